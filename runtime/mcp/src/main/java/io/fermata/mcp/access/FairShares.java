package io.fermata.mcp.access;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A bounded map that is shared by principals, eldest entry first. If it is full, the principal with
 * the most entries loses its eldest, so that no principal evicts the entries of others. Not
 * thread-safe.
 */
public final class FairShares<K, V> {
  private record Held<V>(String principal, V value) {}

  private final int each;
  private final int all;
  private final BiConsumer<String, V> dropped;
  private final Map<K, Held<V>> entries = new LinkedHashMap<>();
  private final Map<String, Set<K>> ofPrincipal = new HashMap<>();

  /** The principals by their number of entries. */
  private final TreeMap<Integer, Set<String>> bySize = new TreeMap<>();

  /**
   * @param each how many entries one principal may have
   * @param all how many entries there may be in total
   * @param dropped is called with each evicted entry and its principal
   */
  public FairShares(int each, int all, BiConsumer<String, V> dropped) {
    this.each = each;
    this.all = all;
    this.dropped = dropped;
  }

  public boolean has(K key) {
    return entries.containsKey(key);
  }

  public @Nullable V get(K key) {
    Held<V> held = entries.get(key);
    return held == null ? null : held.value();
  }

  /** Adds an entry, or makes it the youngest. */
  public void put(String principal, K key, V value) {
    remove(key);
    entries.put(key, new Held<>(principal, value));
    Set<K> keys = ofPrincipal.computeIfAbsent(principal, who -> new LinkedHashSet<>());
    keys.add(key);
    resized(principal, keys.size() - 1, keys.size());
    if (keys.size() > each) {
      dropEldest(principal);
    } else if (entries.size() > all) {
      dropEldest(Objects.requireNonNull(bySize.get(bySize.lastKey())).iterator().next());
    }
  }

  /**
   * Makes room for one more entry of a principal: if there is none, drops the eldest spent entry.
   *
   * @return whether there is room for one more
   */
  public boolean makeRoom(String principal, Predicate<V> spent) {
    Set<K> own = ofPrincipal.getOrDefault(principal, Set.of());
    boolean ownFull = own.size() >= each;
    if (!ownFull && entries.size() < all) {
      return true;
    }
    for (K key : ownFull ? own : entries.keySet()) {
      if (spent.test(Objects.requireNonNull(entries.get(key)).value())) {
        drop(key);
        return true;
      }
    }
    return false;
  }

  public @Nullable V remove(K key) {
    Held<V> held = entries.remove(key);
    if (held == null) {
      return null;
    }
    String principal = held.principal();
    Set<K> keys = Objects.requireNonNull(ofPrincipal.get(principal));
    keys.remove(key);
    resized(principal, keys.size() + 1, keys.size());
    if (keys.isEmpty()) {
      ofPrincipal.remove(principal);
    }
    return held.value();
  }

  /** Removes the eldest entries while they match, and returns them. */
  public List<V> removeEldestWhile(Predicate<V> old) {
    List<V> removed = new ArrayList<>();
    while (!entries.isEmpty()) {
      Map.Entry<K, Held<V>> eldest = entries.entrySet().iterator().next();
      V value = eldest.getValue().value();
      if (!old.test(value)) {
        return removed;
      }
      remove(eldest.getKey());
      removed.add(value);
    }
    return removed;
  }

  private void dropEldest(String principal) {
    drop(Objects.requireNonNull(ofPrincipal.get(principal)).iterator().next());
  }

  private void drop(K key) {
    String principal = Objects.requireNonNull(entries.get(key)).principal();
    dropped.accept(principal, Objects.requireNonNull(remove(key)));
  }

  private void resized(String principal, int from, int to) {
    if (from > 0) {
      Set<String> before = Objects.requireNonNull(bySize.get(from));
      before.remove(principal);
      if (before.isEmpty()) {
        bySize.remove(from);
      }
    }
    if (to > 0) {
      bySize.computeIfAbsent(to, size -> new LinkedHashSet<>()).add(principal);
    }
  }
}

package io.fermata.flow.json;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * An immutable map whose copies with one entry more or less share what they have in common: a hash
 * array mapped trie. A copy costs the depth of the trie, not the size of the map. Its entries are
 * in the order of their hashes.
 */
public final class PersistentMap<K, V> extends AbstractMap<K, V> {
  private static final int BITS = 5;
  private static final int MASK = (1 << BITS) - 1;
  private static final PersistentMap<?, ?> EMPTY = new PersistentMap<>(new Node(0), 0);

  private final Node root;
  private final int size;

  private PersistentMap(Node root, int size) {
    this.root = root;
    this.size = size;
  }

  @SuppressWarnings("unchecked") // it holds nothing
  static <K, V> PersistentMap<K, V> empty() {
    return (PersistentMap<K, V>) EMPTY;
  }

  public static <K, V> PersistentMap<K, V> copyOf(Map<K, V> map) {
    if (map instanceof PersistentMap<K, V> same) {
      return same;
    }
    PersistentMap<K, V> copy = empty();
    for (Map.Entry<K, V> entry : map.entrySet()) {
      copy = copy.plus(entry.getKey(), entry.getValue());
    }
    return copy;
  }

  /** A map with one more entry, or with another value. */
  public static <K, V> PersistentMap<K, V> with(Map<K, V> map, K key, V value) {
    return copyOf(map).plus(key, value);
  }

  private PersistentMap<K, V> plus(K key, V value) {
    int hash = hash(key);
    boolean known = find(key) != null;
    Node next = root.plus(new Leaf(hash, key, value), 0);
    return new PersistentMap<>(next, known ? size : size + 1);
  }

  /** A map without the entry of a key. */
  public static <K, V> PersistentMap<K, V> without(Map<K, V> map, K key) {
    PersistentMap<K, V> from = copyOf(map);
    return from.containsKey(key)
        ? new PersistentMap<>(from.root.minus(hash(key), key, 0), from.size - 1)
        : from;
  }

  /** The entries of a map that a test lets through. */
  public static <K, V> PersistentMap<K, V> filtered(Map<K, V> map, BiPredicate<K, V> test) {
    PersistentMap<K, V> kept = empty();
    for (Map.Entry<K, V> entry : map.entrySet()) {
      if (test.test(entry.getKey(), entry.getValue())) {
        kept = kept.plus(entry.getKey(), entry.getValue());
      }
    }
    return kept.size == map.size() ? copyOf(map) : kept;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public boolean containsKey(@Nullable Object key) {
    return find(key) != null;
  }

  @Override
  @SuppressWarnings("unchecked") // only plus makes leaves
  public @Nullable V get(@Nullable Object key) {
    Leaf leaf = find(key);
    return leaf == null ? null : (V) leaf.getValue();
  }

  @Override
  public Set<Map.Entry<K, V>> entrySet() {
    return new AbstractSet<>() {
      @Override
      public int size() {
        return size;
      }

      @Override
      public Iterator<Map.Entry<K, V>> iterator() {
        return new Entries<>(root);
      }
    };
  }

  private @Nullable Leaf find(@Nullable Object key) {
    int hash = hash(key);
    Node node = root;
    for (int shift = 0; ; shift += BITS) {
      Object found = node.at(hash, shift);
      if (!(found instanceof Node inner)) {
        return found == null ? null : ((Leaf) found).among(hash, key);
      }
      node = inner;
    }
  }

  /** Similar keys differ in the upper bits, too. */
  private static int hash(@Nullable Object key) {
    int hash = Objects.hashCode(key);
    return hash ^ (hash >>> 16);
  }

  /** An entry, with those whose keys have the same hash. */
  private static final class Leaf extends SimpleImmutableEntry<Object, Object> {
    private static final long serialVersionUID = 1;

    private final int hash;
    private final @Nullable Leaf next;

    Leaf(int hash, Object key, Object value) {
      this(hash, key, value, null);
    }

    private Leaf(int hash, Object key, Object value, @Nullable Leaf next) {
      super(key, value);
      this.hash = hash;
      this.next = next;
    }

    @Nullable Leaf among(int wanted, @Nullable Object key) {
      for (Leaf leaf = hash == wanted ? this : null; leaf != null; leaf = leaf.next) {
        if (leaf.getKey().equals(key)) {
          return leaf;
        }
      }
      return null;
    }

    /** These leaves with another of the same hash. */
    Leaf plus(Leaf added) {
      Leaf all = added;
      for (Leaf leaf = this; leaf != null; leaf = leaf.next) {
        if (!leaf.getKey().equals(added.getKey())) {
          all = new Leaf(leaf.hash, leaf.getKey(), leaf.getValue(), all);
        }
      }
      return all;
    }

    /** These leaves without one of them; null for none. */
    @Nullable Leaf minus(Object key) {
      Leaf rest = null;
      for (Leaf leaf = this; leaf != null; leaf = leaf.next) {
        if (!leaf.getKey().equals(key)) {
          rest = new Leaf(leaf.hash, leaf.getKey(), leaf.getValue(), rest);
        }
      }
      return rest;
    }
  }

  /** A level of the trie. */
  private static final class Node {
    /** Which of the possible children there are. */
    private final int bitmap;

    /** Leaves and nodes, in the order of their bits. */
    private final Object[] children;

    Node(int bitmap, Object... children) {
      this.bitmap = bitmap;
      this.children = children;
    }

    private static int bit(int hash, int shift) {
      return 1 << ((hash >>> shift) & MASK);
    }

    private int index(int bit) {
      return Integer.bitCount(bitmap & (bit - 1));
    }

    @Nullable Object at(int hash, int shift) {
      int bit = bit(hash, shift);
      return (bitmap & bit) == 0 ? null : children[index(bit)];
    }

    Node plus(Leaf leaf, int shift) {
      int bit = bit(leaf.hash, shift);
      int index = index(bit);
      if ((bitmap & bit) == 0) {
        Object[] more = new Object[children.length + 1];
        System.arraycopy(children, 0, more, 0, index);
        more[index] = leaf;
        System.arraycopy(children, index, more, index + 1, children.length - index);
        return new Node(bitmap | bit, more);
      }
      Object[] copy = children.clone();
      copy[index] = joined(children[index], leaf, shift + BITS);
      return new Node(bitmap, copy);
    }

    /** This level without a key that is below it. */
    Node minus(int hash, Object key, int shift) {
      int bit = bit(hash, shift);
      int index = index(bit);
      Object rest =
          children[index] instanceof Node inner
              ? inner.minus(hash, key, shift + BITS).orNull()
              : ((Leaf) children[index]).minus(key);
      if (rest != null) {
        Object[] copy = children.clone();
        copy[index] = rest;
        return new Node(bitmap, copy);
      }
      Object[] fewer = new Object[children.length - 1];
      System.arraycopy(children, 0, fewer, 0, index);
      System.arraycopy(children, index + 1, fewer, index, fewer.length - index);
      return new Node(bitmap & ~bit, fewer);
    }

    private @Nullable Node orNull() {
      return bitmap == 0 ? null : this;
    }

    private static Object joined(Object child, Leaf leaf, int shift) {
      if (child instanceof Node inner) {
        return inner.plus(leaf, shift);
      }
      Leaf other = (Leaf) child;
      return other.hash == leaf.hash ? other.plus(leaf) : pair(other, leaf, shift);
    }

    private static Node pair(Leaf one, Leaf other, int shift) {
      int bit = bit(one.hash, shift);
      int otherBit = bit(other.hash, shift);
      if (bit == otherBit) {
        return new Node(bit, pair(one, other, shift + BITS));
      }
      boolean ordered = Integer.compareUnsigned(bit, otherBit) < 0;
      return new Node(bit | otherBit, ordered ? one : other, ordered ? other : one);
    }
  }

  private static final class Entries<K, V> implements Iterator<Map.Entry<K, V>> {
    private final Deque<Iterator<Object>> open = new ArrayDeque<>();
    private @Nullable Leaf next;

    Entries(Node root) {
      open.push(Arrays.asList(root.children).iterator());
      advance(null);
    }

    private void advance(@Nullable Leaf within) {
      next = within;
      while (next == null && !open.isEmpty()) {
        if (!open.getFirst().hasNext()) {
          open.pop();
          continue;
        }
        Object child = open.getFirst().next();
        if (child instanceof Node inner) {
          open.push(Arrays.asList(inner.children).iterator());
        } else {
          next = (Leaf) child;
        }
      }
    }

    @Override
    public boolean hasNext() {
      return next != null;
    }

    @Override
    @SuppressWarnings("unchecked") // only plus makes leaves
    public Map.Entry<K, V> next() {
      Leaf leaf = next;
      if (leaf == null) {
        throw new NoSuchElementException();
      }
      advance(leaf.next);
      return (Map.Entry<K, V>) (Map.Entry<?, ?>) leaf;
    }
  }
}

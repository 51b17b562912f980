package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.SecretComponents;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a run whose values must not leave the run, found in trees.
 *
 * <p>They are named by their paths in the state of the run; {@code *} stands for one part of a
 * path, and {@code **} for any number of them. What lies within a named field is part of it. In a
 * tree, a name with dots in it is one part, as the key of a map may be, and is also read as the
 * path of a field.
 */
public final class SecretFields {
  /** No field. */
  public static final SecretFields NONE = new SecretFields(Set.of(), Map.of());

  private static final String MANY = "**";

  /** Behind the last part of a path, where no part can be. */
  private static final String END = ".";

  private final Set<String> paths;
  private final Map<String, Set<String>> signals;

  /** The parts of all paths, with an end behind those of each. */
  private final List<String> parts = new ArrayList<>();

  /** Before the first part of each path. */
  private final BitSet root = new BitSet();

  private @Nullable String marks;

  private SecretFields(Set<String> paths, Map<String, Set<String>> signals) {
    this.paths = Set.copyOf(paths);
    this.signals = Map.copyOf(signals);
    List<Integer> first = new ArrayList<>();
    for (String path : paths) {
      first.add(parts.size());
      parts.addAll(parts(path));
      parts.add(END);
    }
    first.forEach(part -> enter(part, root));
  }

  /** The fields at these paths. */
  public static SecretFields of(String... paths) {
    return paths.length == 0
        ? NONE
        : new SecretFields(new LinkedHashSet<>(List.of(paths)), Map.of());
  }

  /**
   * What a schema marks.
   *
   * @param path where the value stands that it describes
   */
  public static SecretFields marked(String path, JsonNode schema) {
    return of(
        SecretComponents.of(schema).stream()
            .map(part -> path.isEmpty() || part.isEmpty() ? path + part : path + "." + part)
            .toArray(String[]::new));
  }

  /** What the flows of a whole graph mark, and what comes into such fields by signals. */
  static SecretFields of(Iterable<Step<?>> steps) {
    Set<String> paths = new LinkedHashSet<>();
    Map<String, Set<String>> signals = new LinkedHashMap<>();
    for (Step<?> step : steps) {
      String template = step.scope().template();
      step.scope().schema().secrets().forEach(path -> paths.add(template + path));
      if (step.node() instanceof Node.Await<?> await && await.field() != null) {
        signals
            .computeIfAbsent(await.signal(), signal -> new LinkedHashSet<>())
            .add(template + await.field());
      }
    }
    return paths.isEmpty() ? NONE : new SecretFields(paths, signals);
  }

  /** These fields and others. */
  public SecretFields and(SecretFields others) {
    if (isEmpty() || others.isEmpty()) {
      return isEmpty() ? others : this;
    }
    Set<String> all = new LinkedHashSet<>(paths);
    all.addAll(others.paths);
    Map<String, Set<String>> coming = new LinkedHashMap<>(signals);
    others.signals.forEach(
        (signal, fields) ->
            coming.merge(
                signal,
                fields,
                (a, b) -> {
                  Set<String> both = new LinkedHashSet<>(a);
                  both.addAll(b);
                  return both;
                }));
    return new SecretFields(all, coming);
  }

  /**
   * These fields, and those that a version before had for them.
   *
   * @param renamed the fields that came under another name, by their names before
   * @param dropped what was secret before and no longer is
   */
  SecretFields before(Map<String, String> renamed, Set<String> dropped) {
    Set<String> all = new LinkedHashSet<>(paths);
    all.addAll(dropped);
    renamed.forEach(
        (old, now) -> {
          if (names(now)) {
            all.add(old);
          }
          int moved = parts(now).size();
          for (String path : paths) {
            List<String> own = parts(path);
            if (own.size() > moved && of(now).names(path)) {
              all.add(old + "." + String.join(".", own.subList(moved, own.size())));
            }
          }
        });
    return all.isEmpty() ? NONE : new SecretFields(all, signals);
  }

  public boolean isEmpty() {
    return paths.isEmpty();
  }

  /** All that is marked, as a text that differs where other values are secret. */
  public String marks() {
    String known = marks;
    if (known == null) {
      Map<String, Set<String>> coming = new TreeMap<>();
      signals.forEach((signal, fields) -> coming.put(signal, new TreeSet<>(fields)));
      known = new TreeSet<>(paths) + " " + coming;
      marks = known;
    }
    return known;
  }

  /** The last names of the paths: a part of a tree that is called so may be such a field. */
  public Set<String> lastNames() {
    Set<String> names = new TreeSet<>();
    for (String path : paths) {
      List<String> own = parts(path);
      for (int i = own.size() - 1; i >= 0; i--) {
        if (!own.get(i).startsWith(Paths.ANY)) {
          names.add(own.get(i));
          break;
        }
      }
    }
    return names;
  }

  private static List<String> parts(String path) {
    return path.isEmpty() ? List.of() : List.of(path.split("\\.", -1));
  }

  // --- the way into a tree ----------------------------------------------------------------------

  /** Notes a part as the next one of its path. */
  private void enter(int part, BitSet next) {
    next.set(part);
    if (parts.get(part).equals(MANY)) {
      enter(part + 1, next);
    }
  }

  /** The next parts of the paths after one more name on the way. */
  private BitSet after(BitSet at, String name) {
    BitSet next = new BitSet();
    at.stream()
        .forEach(
            i -> {
              String part = parts.get(i);
              if (part.equals(MANY) || part.equals(END)) {
                enter(i, next);
              } else if (part.equals(Paths.ANY) || part.equals(name)) {
                enter(i + 1, next);
              }
            });
    return next;
  }

  private BitSet along(BitSet at, String path) {
    BitSet along = at;
    for (String part : parts(path)) {
      along = after(along, part);
    }
    return along;
  }

  /** The next parts below a name in a tree, which is one part or the path of a field. */
  private BitSet below(BitSet at, String name) {
    BitSet below = after(at, name);
    if (name.indexOf('.') >= 0) {
      below.or(along(at, name));
    }
    return below;
  }

  private boolean named(BitSet at) {
    return at.stream().anyMatch(i -> parts.get(i).equals(END));
  }

  /**
   * Why a path, which may have {@code *}, names nothing that a flow declares and nothing that a run
   * has had, and what to do; null if it does. A mistyped path would leave values in clear.
   *
   * @param versions one or more of the same flow
   * @param journal what is below an open map, or in a field of an earlier version, is only here
   */
  public static @Nullable String misnamed(
      String path, List<Flow<?>> versions, Iterable<Event> journal) {
    if (!path.isBlank()
        && (versions.stream().anyMatch(flow -> flow.schema().declares(parts(path)))
            || of(path).findsAny(journal))) {
      return null;
    }
    Set<String> known = new TreeSet<>();
    versions.forEach(flow -> known.addAll(flow.fieldPaths()));
    return "The flow %s has no field %s; %s"
        .formatted(versions.get(0).id(), path, Nearest.next(path, known, "its fields are "));
  }

  private boolean findsAny(Iterable<Event> journal) {
    List<JsonNode> found = new ArrayList<>();
    journal.forEach(event -> Secrets.find(this, event, found::add));
    return !found.isEmpty();
  }

  // --- what is there ----------------------------------------------------------------------------

  /** Whether a path is that of a named field, or lies within one. */
  public boolean names(String path) {
    return named(along(root, path));
  }

  /** Hands over every value that named fields have in a tree that stands at a path. */
  public void find(String path, JsonNode tree, Consumer<JsonNode> found) {
    find(along(root, path), tree, found);
  }

  private void find(BitSet at, JsonNode tree, Consumer<JsonNode> found) {
    if (named(at)) {
      found.accept(tree);
    } else if (at.isEmpty()) {
      return;
    } else if (tree instanceof ObjectNode object) {
      object.properties().forEach(e -> find(below(at, e.getKey()), e.getValue(), found));
    } else if (tree instanceof ArrayNode array) {
      for (int i = 0; i < array.size(); i++) {
        find(below(at, String.valueOf(i)), array.get(i), found);
      }
    }
  }

  /** Hands over every value that named fields will have of a signal's payload. */
  public void findInSignal(String signal, JsonNode payload, Consumer<JsonNode> found) {
    signals.getOrDefault(signal, Set.of()).forEach(path -> find(path, payload, found));
  }

  /**
   * A tree that stands at a path, with others in place of its parts.
   *
   * @param secret what stands for a value of a named field
   * @param other what stands for a value outside of them, the parts of which are replaced by then
   */
  public JsonNode replaced(
      String path, JsonNode tree, UnaryOperator<JsonNode> secret, UnaryOperator<JsonNode> other) {
    return replaced(along(root, path), tree, secret, other);
  }

  private JsonNode replaced(
      BitSet at, JsonNode tree, UnaryOperator<JsonNode> secret, UnaryOperator<JsonNode> other) {
    return named(at)
        ? secret.apply(tree)
        : other.apply(
            Json.mapped(tree, (name, value) -> replaced(below(at, name), value, secret, other)));
  }

  /** The tree with a mark in place of the named fields. */
  public JsonNode masked(String path, JsonNode tree) {
    return replaced(
        path,
        tree,
        value -> Paths.absent(value) ? value : TextNode.valueOf(Secrets.MARK),
        UnaryOperator.identity());
  }

  @Override
  public String toString() {
    return String.join(", ", new ArrayList<>(new TreeSet<>(paths)));
  }
}

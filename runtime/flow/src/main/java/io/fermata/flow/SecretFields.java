package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.SecretComponents;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * The fields of a run whose values must not leave the run, found in trees.
 *
 * <p>They are named by their paths in the state of the run; {@code *} stands for one part of a
 * path, and {@code **} for any number of them. What lies within a named field is part of it.
 */
public final class SecretFields {
  /** No field. */
  public static final SecretFields NONE = new SecretFields(Set.of(), Map.of());

  private final Set<String> paths;
  private final Map<String, Set<String>> signals;
  private final List<String[]> patterns;

  private SecretFields(Set<String> paths, Map<String, Set<String>> signals) {
    this.paths = Set.copyOf(paths);
    this.signals = Map.copyOf(signals);
    this.patterns = paths.stream().map(SecretFields::parts).toList();
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
          String[] moved = parts(now);
          for (String[] pattern : patterns) {
            if (pattern.length > moved.length && matches(moved, 0, pattern, 0)) {
              String within =
                  String.join(".", List.of(pattern).subList(moved.length, pattern.length));
              all.add(old + "." + within);
            }
          }
        });
    return all.isEmpty() ? NONE : new SecretFields(all, signals);
  }

  public boolean isEmpty() {
    return patterns.isEmpty();
  }

  /** The last names of the paths: a part of a tree that is called so may be such a field. */
  public Set<String> lastNames() {
    Set<String> names = new TreeSet<>();
    for (String[] pattern : patterns) {
      for (int i = pattern.length - 1; i >= 0; i--) {
        if (!pattern[i].startsWith("*")) {
          names.add(pattern[i]);
          break;
        }
      }
    }
    return names;
  }

  private static String[] parts(String path) {
    return path.isEmpty() ? new String[0] : path.split("\\.", -1);
  }

  /** Whether a path is that of a named field, or lies within one. */
  public boolean names(String path) {
    String[] parts = parts(path);
    return patterns.stream().anyMatch(pattern -> matches(pattern, 0, parts, 0));
  }

  private static boolean matches(String[] pattern, int p, String[] path, int i) {
    if (p == pattern.length) {
      return true;
    }
    if (pattern[p].equals("**")) {
      return matches(pattern, p + 1, path, i)
          || (i < path.length && matches(pattern, p, path, i + 1));
    }
    return i < path.length
        && (pattern[p].equals("*") || pattern[p].equals(path[i]))
        && matches(pattern, p + 1, path, i + 1);
  }

  /** Hands over every value that named fields have in a tree that stands at a path. */
  public void find(String path, JsonNode tree, Consumer<JsonNode> found) {
    if (patterns.isEmpty()) {
      return;
    } else if (names(path)) {
      found.accept(tree);
    } else {
      children(path, tree, (child, value) -> find(child, value, found));
    }
  }

  /** Hands over every value that named fields will have of a signal's payload. */
  public void findInSignal(String signal, JsonNode payload, Consumer<JsonNode> found) {
    signals.getOrDefault(signal, Set.of()).forEach(path -> find(path, payload, found));
  }

  private interface Child {
    void visit(String path, JsonNode value);
  }

  private static void children(String path, JsonNode tree, Child child) {
    String prefix = path.isEmpty() ? "" : path + ".";
    if (tree instanceof ObjectNode object) {
      object.properties().forEach(e -> child.visit(prefix + e.getKey(), e.getValue()));
    } else if (tree instanceof ArrayNode array) {
      for (int i = 0; i < array.size(); i++) {
        child.visit(prefix + i, array.get(i));
      }
    }
  }

  /** The tree with a mark in place of the named fields. */
  public JsonNode masked(String path, JsonNode tree) {
    if (tree.isNull() || tree.isMissingNode()) {
      return tree;
    }
    if (names(path)) {
      return TextNode.valueOf(Secrets.MARK);
    }
    String prefix = path.isEmpty() ? "" : path + ".";
    return Json.mapped(tree, (name, value) -> masked(prefix + name, value));
  }

  @Override
  public String toString() {
    return String.join(", ", new ArrayList<>(new TreeSet<>(paths)));
  }
}

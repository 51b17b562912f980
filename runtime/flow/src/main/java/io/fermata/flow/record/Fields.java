package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/** The fields that a redaction names, found in trees. */
final class Fields {
  private final List<String[]> patterns;

  Fields(List<String> paths) {
    if (paths.isEmpty() || paths.stream().anyMatch(String::isBlank)) {
      throw new IllegalArgumentException("Name the fields to redact: \"customer.card\"");
    }
    this.patterns = paths.stream().map(Fields::parts).toList();
  }

  private static String[] parts(String path) {
    return path.isEmpty() ? new String[0] : path.split("\\.", -1);
  }

  /** Whether a path is that of a named field, or lies within one. */
  boolean names(String path) {
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
  void find(String path, JsonNode tree, Consumer<JsonNode> found) {
    if (names(path)) {
      found.accept(tree);
    } else {
      children(path, tree, (child, value) -> find(child, value, found));
    }
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
  JsonNode masked(String path, JsonNode tree) {
    if (tree.isNull() || tree.isMissingNode()) {
      return tree;
    }
    if (names(path)) {
      return TextNode.valueOf(Redaction.MARK);
    }
    String prefix = path.isEmpty() ? "" : path + ".";
    return mapped(tree, (name, value) -> masked(prefix + name, value));
  }

  /** A copy of a container with other children; anything else as it is. */
  static JsonNode mapped(JsonNode tree, BiFunction<String, JsonNode, JsonNode> change) {
    if (tree instanceof ObjectNode object) {
      ObjectNode copy = JsonNodeFactory.instance.objectNode();
      object
          .properties()
          .forEach(e -> copy.set(e.getKey(), change.apply(e.getKey(), e.getValue())));
      return copy;
    } else if (tree instanceof ArrayNode array) {
      ArrayNode copy = JsonNodeFactory.instance.arrayNode(array.size());
      for (int i = 0; i < array.size(); i++) {
        copy.add(change.apply(String.valueOf(i), array.get(i)));
      }
      return copy;
    }
    return tree;
  }
}

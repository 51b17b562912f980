package io.fermata.flow.json;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes by dotted path in trees that nobody changes: every write returns a new root that
 * shares what it did not touch.
 */
public final class Paths {
  /** Stands for any item of a list, and for any name, in a path. */
  public static final String ANY = "*";

  private Paths() {}

  public static JsonNode get(JsonNode root, String path) {
    JsonNode node = root;
    int from = 0;
    while (from <= path.length()) {
      int dot = path.indexOf('.', from);
      node = node.path(dot < 0 ? path.substring(from) : path.substring(from, dot));
      if (dot < 0) {
        return node;
      }
      from = dot + 1;
    }
    return MissingNode.getInstance();
  }

  public static ObjectNode set(ObjectNode root, String path, JsonNode value) {
    return set(root, path, value, null);
  }

  /**
   * What several writes to one tree have copied so far, and may change. Nobody else may have these
   * copies before the last write.
   */
  public static Set<ObjectNode> copies() {
    return Collections.newSetFromMap(new IdentityHashMap<>(4));
  }

  /** Sets what is filled, and deletes the rest. What contains several of them is copied once. */
  public static ObjectNode replace(ObjectNode root, Map<String, JsonNode> values) {
    Set<ObjectNode> copies = copies();
    ObjectNode changed = root;
    for (Map.Entry<String, JsonNode> entry : values.entrySet()) {
      changed =
          filled(entry.getValue())
              ? set(changed, entry.getKey(), entry.getValue(), copies)
              : delete(changed, entry.getKey(), copies);
    }
    return changed;
  }

  public static ObjectNode delete(ObjectNode root, String path) {
    return delete(root, path, null);
  }

  public static ObjectNode set(
      ObjectNode root, String path, JsonNode value, @Nullable Set<ObjectNode> copies) {
    int dot = path.indexOf('.');
    ObjectNode copy = copy(root, copies);
    if (dot < 0) {
      copy.set(path, value);
    } else {
      String head = path.substring(0, dot);
      ObjectNode child = root.get(head) instanceof ObjectNode object ? object : Json.object();
      copy.set(head, set(child, path.substring(dot + 1), value, copies));
    }
    return copy;
  }

  public static ObjectNode delete(ObjectNode root, String path, @Nullable Set<ObjectNode> copies) {
    int dot = path.indexOf('.');
    String head = dot < 0 ? path : path.substring(0, dot);
    if (!root.has(head)) {
      return root;
    }
    ObjectNode copy = copy(root, copies);
    if (dot < 0) {
      copy.remove(head);
    } else if (root.get(head) instanceof ObjectNode object) {
      copy.set(head, delete(object, path.substring(dot + 1), copies));
    }
    return copy;
  }

  /**
   * The node itself if it is one of the copies already.
   *
   * @param copies null where only one change is made
   */
  private static ObjectNode copy(ObjectNode node, @Nullable Set<ObjectNode> copies) {
    if (copies == null) {
      return shallow(node);
    } else if (copies.contains(node)) {
      return node;
    }
    ObjectNode copy = shallow(node);
    copies.add(copy);
    return copy;
  }

  /** Sets a value in a tree that nobody else has yet, which is changed. */
  public static void put(ObjectNode root, String path, JsonNode value) {
    ObjectNode at = root;
    int from = 0;
    for (int dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', from)) {
      String name = path.substring(from, dot);
      at = at.get(name) instanceof ObjectNode object ? object : at.putObject(name);
      from = dot + 1;
    }
    at.set(path.substring(from), value);
  }

  public static ObjectNode append(
      ObjectNode root, String path, JsonNode element, @Nullable Set<ObjectNode> copies) {
    ArrayNode list =
        get(root, path) instanceof ArrayNode known ? known : Json.MAPPER.createArrayNode();
    return set(root, path, GrowingArray.append(list, element), copies);
  }

  public static ObjectNode merge(
      ObjectNode root, String path, JsonNode value, @Nullable Set<ObjectNode> copies) {
    JsonNode merged = merged(get(root, path), value, copies);
    return set(root, path, merged, copies);
  }

  public static JsonNode merged(JsonNode old, JsonNode added) {
    return merged(old, added, null);
  }

  private static JsonNode merged(JsonNode old, JsonNode added, @Nullable Set<ObjectNode> copies) {
    if (!(old instanceof ObjectNode left) || !(added instanceof ObjectNode right)) {
      return added;
    }
    ObjectNode result = copy(left, copies);
    right
        .properties()
        .forEach(e -> result.set(e.getKey(), merged(left.path(e.getKey()), e.getValue(), copies)));
    return result;
  }

  /** Whether there is no value, or null. */
  public static boolean absent(JsonNode value) {
    return value.isMissingNode() || value.isNull();
  }

  /** An answer is filled when it is not absent, null or "": false, 0 and [] are answers. */
  public static boolean filled(@Nullable JsonNode value) {
    return value != null
        && !value.isMissingNode()
        && !value.isNull()
        && !(value.isTextual() && value.textValue().isEmpty());
  }

  /** The paths that contain a path, the outermost first. */
  public static List<String> around(String path) {
    int first = path.indexOf('.');
    if (first < 0) {
      return List.of();
    }
    List<String> around = new ArrayList<>();
    for (int dot = first; dot >= 0; dot = path.indexOf('.', dot + 1)) {
      around.add(path.substring(0, dot));
    }
    return around;
  }

  /** Whether one of the two paths contains the other. */
  public static boolean related(String a, String b) {
    return contains(a, b) || contains(b, a);
  }

  /** Whether a path is another or is part of it. */
  public static boolean contains(String whole, String part) {
    return part.startsWith(whole)
        && (part.length() == whole.length() || part.charAt(whole.length()) == '.');
  }

  public static boolean anyRelated(Set<String> fields, String path) {
    return fields.stream().anyMatch(field -> related(field, path));
  }

  /** Like {@link #related}, where a part {@link #ANY} of the template stands for any name. */
  public static boolean like(String template, String path) {
    if (!template.contains(ANY)) {
      return related(template, path);
    }
    String[] wanted = template.split("\\.", -1);
    String[] given = path.split("\\.", -1);
    for (int i = 0; i < Math.min(wanted.length, given.length); i++) {
      if (!wanted[i].equals(ANY) && !wanted[i].equals(given[i])) {
        return false;
      }
    }
    return true;
  }

  private static ObjectNode shallow(ObjectNode node) {
    ObjectNode copy = Json.object();
    copy.setAll(node);
    return copy;
  }
}

package io.fermata.flow.json;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Map;

/** The size of a tree's text in bytes, and by how much it grew, at the cost of what is new. */
public final class Sizes {
  /** Those of an object or an array, and the quotes of a text. */
  private static final int BRACKETS = 2;

  private Sizes() {}

  public static int of(JsonNode tree) {
    int size = 0;
    if (tree instanceof ObjectNode) {
      for (Map.Entry<String, JsonNode> entry : tree.properties()) {
        size += field(entry);
      }
      return size + BRACKETS + separators(tree);
    } else if (tree instanceof ArrayNode) {
      for (JsonNode element : tree) {
        size += of(element);
      }
      return size + BRACKETS + separators(tree);
    }
    boolean plain = tree.isIntegralNumber() || tree.isBoolean();
    return tree instanceof TextNode
        ? of(tree.textValue())
        : plain ? tree.asText().length() : written(tree);
  }

  private static int of(String text) {
    int size = BRACKETS;
    for (int i = 0; i < text.length(); i++) {
      char at = text.charAt(i);
      if (at < ' ' || at == '"' || at == '\\' || Character.isSurrogate(at)) {
        return written(TextNode.valueOf(text));
      }
      size += at < 0x80 ? 1 : at < 0x800 ? 2 : 3;
    }
    return size;
  }

  /** The size of what Jackson escapes or formats. */
  private static int written(JsonNode tree) {
    try {
      return Json.MAPPER.writeValueAsBytes(tree).length;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A JSON tree could not be written", e);
    }
  }

  /** By how many bytes the text of a tree is longer than that of an earlier one. */
  @SuppressWarnings("ReferenceEquality") // trees are never changed: the same object says the same
  public static int growth(JsonNode before, JsonNode after) {
    if (before == after) {
      return 0;
    } else if (before instanceof ObjectNode then && after instanceof ObjectNode now) {
      return growth(then, now);
    } else if (before instanceof ArrayNode then && after instanceof ArrayNode now) {
      return growth(then, now);
    }
    return of(after) - of(before);
  }

  private static int growth(ObjectNode before, ObjectNode after) {
    int growth = separators(after) - separators(before);
    for (Map.Entry<String, JsonNode> entry : after.properties()) {
      JsonNode then = before.get(entry.getKey());
      growth += then == null ? field(entry) : growth(then, entry.getValue());
    }
    for (Map.Entry<String, JsonNode> entry : before.properties()) {
      growth -= after.has(entry.getKey()) ? 0 : field(entry);
    }
    return growth;
  }

  private static int growth(ArrayNode before, ArrayNode after) {
    int growth = separators(after) - separators(before);
    int common = Math.min(before.size(), after.size());
    for (int i = GrowingArray.shared(before, after); i < common; i++) {
      growth += growth(before.get(i), after.get(i));
    }
    for (int i = common; i < after.size(); i++) {
      growth += of(after.get(i));
    }
    for (int i = common; i < before.size(); i++) {
      growth -= of(before.get(i));
    }
    return growth;
  }

  private static int field(Map.Entry<String, JsonNode> field) {
    return of(field.getKey()) + 1 + of(field.getValue());
  }

  private static int separators(JsonNode container) {
    return Math.max(0, container.size() - 1);
  }
}

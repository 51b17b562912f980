package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * Encrypts the secret parts of trees. It recognises secrets by names and values alone, so it finds
 * them in every part of every entry. What is encrypted needlessly is decrypted unchanged.
 */
final class EncryptedTrees {
  /**
   * The properties of events that contain the name of a field, and those beside them that contain
   * its value.
   */
  private static final Set<String> NAMES = Set.of("field", "path", "what");

  private static final Set<String> VALUES = Set.of("value", "payload", "is", "than");

  private final Set<String> fields;
  private final Predicate<JsonNode> secret;
  private final UnaryOperator<JsonNode> encrypt;

  /**
   * @param fields the names of secret fields, whose values are always encrypted
   * @param secret which texts and numbers are encrypted in any position
   * @param encrypt encrypts a part
   */
  EncryptedTrees(Set<String> fields, Predicate<JsonNode> secret, UnaryOperator<JsonNode> encrypt) {
    this.fields = fields;
    this.secret = secret;
    this.encrypt = encrypt;
  }

  /** The tree with its secrets encrypted; the same instance if there are none. */
  JsonNode encrypted(JsonNode tree) {
    if (tree instanceof ObjectNode object) {
      return encrypted(object);
    } else if (tree instanceof ArrayNode array) {
      return elements(array, this::encrypted);
    }
    return tree.isBinary() || secret.test(tree) ? encrypt.apply(tree) : tree;
  }

  private JsonNode encrypted(ObjectNode object) {
    Iterator<String> names = object.fieldNames();
    while (names.hasNext()) {
      if (secret.test(TextNode.valueOf(names.next()))) {
        return encrypt.apply(object);
      }
    }
    boolean ofSecret = NAMES.stream().anyMatch(n -> named(object.path(n).asText()));
    boolean toSecret = named(object.path("op").asText().replace(' ', '.'));
    return members(
        object,
        (name, value) -> {
          boolean beside = (ofSecret && VALUES.contains(name)) || (toSecret && name.equals("than"));
          return (beside || named(name)) && !value.isNull()
              ? encrypt.apply(value)
              : encrypted(value);
        });
  }

  /** Whether a path contains a secret field. */
  private boolean named(String path) {
    if (fields.contains(path)) {
      return true;
    }
    if (path.indexOf('.') < 0) {
      return false;
    }
    for (String part : path.split("\\.", -1)) {
      if (fields.contains(part)) {
        return true;
      }
    }
    return false;
  }

  /** The tree with its encrypted parts replaced. */
  static JsonNode decrypted(JsonNode tree, UnaryOperator<JsonNode> decrypt) {
    if (tree instanceof ObjectNode object) {
      return members(object, (name, value) -> decrypted(value, decrypt));
    } else if (tree instanceof ArrayNode array) {
      return elements(array, value -> decrypted(value, decrypt));
    }
    return tree.isBinary() ? decrypt.apply(tree) : tree;
  }

  /** Whether a tree is unchanged, which means the same instance. */
  @SuppressWarnings("ReferenceEquality")
  static boolean same(JsonNode one, JsonNode other) {
    return one == other;
  }

  private interface Member {
    JsonNode of(String name, JsonNode value);
  }

  private static JsonNode members(ObjectNode object, Member change) {
    ObjectNode copy = null;
    for (Map.Entry<String, JsonNode> member : object.properties()) {
      JsonNode changed = change.of(member.getKey(), member.getValue());
      if (!same(changed, member.getValue())) {
        copy = copy == null ? shallow(object) : copy;
        copy.set(member.getKey(), changed);
      }
    }
    return copy == null ? object : copy;
  }

  private static ObjectNode shallow(ObjectNode object) {
    ObjectNode copy = JsonNodeFactory.instance.objectNode();
    copy.setAll(object);
    return copy;
  }

  private static JsonNode elements(ArrayNode array, UnaryOperator<JsonNode> change) {
    ArrayNode copy = null;
    for (int i = 0; i < array.size(); i++) {
      JsonNode changed = change.apply(array.get(i));
      if (!same(changed, array.get(i))) {
        copy = copy == null ? JsonNodeFactory.instance.arrayNode().addAll(array) : copy;
        copy.set(i, changed);
      }
    }
    return copy == null ? array : copy;
  }
}

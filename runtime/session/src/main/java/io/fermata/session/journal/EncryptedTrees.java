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
 * Trees in which some parts are encrypted. It takes no more than the names and values in a tree to
 * tell what is secret, so every part of every record is found, and what is encrypted needlessly
 * comes back as it was.
 */
final class EncryptedTrees {
  /** What holds the name of a field in events, and what holds its values beside it. */
  private static final Set<String> NAMES = Set.of("field", "path", "what");

  private static final Set<String> VALUES = Set.of("value", "payload", "is", "than");

  private final Set<String> fields;
  private final Predicate<JsonNode> secret;
  private final UnaryOperator<JsonNode> seal;

  /**
   * @param fields the names of secret fields: what is called so is encrypted whatever it is
   * @param secret which texts and numbers are encrypted wherever they are
   * @param seal what becomes of them
   */
  EncryptedTrees(Set<String> fields, Predicate<JsonNode> secret, UnaryOperator<JsonNode> seal) {
    this.fields = fields;
    this.secret = secret;
    this.seal = seal;
  }

  /** The tree with its secrets encrypted; the same one if there are none. */
  JsonNode sealed(JsonNode tree) {
    if (tree instanceof ObjectNode object) {
      return sealed(object);
    } else if (tree instanceof ArrayNode array) {
      return elements(array, this::sealed);
    }
    return tree.isBinary() || secret.test(tree) ? seal.apply(tree) : tree;
  }

  private JsonNode sealed(ObjectNode object) {
    Iterator<String> names = object.fieldNames();
    while (names.hasNext()) {
      if (secret.test(TextNode.valueOf(names.next()))) {
        return seal.apply(object);
      }
    }
    boolean ofSecret = NAMES.stream().anyMatch(n -> named(object.path(n).asText()));
    boolean toSecret = named(object.path("op").asText().replace(' ', '.'));
    return members(
        object,
        (name, value) -> {
          boolean beside = (ofSecret && VALUES.contains(name)) || (toSecret && name.equals("than"));
          return (beside || named(name)) && !value.isNull() ? seal.apply(value) : sealed(value);
        });
  }

  /** Whether a path leads to a secret field, or through one. */
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

  /** The tree with something else in place of its encrypted parts. */
  static JsonNode opened(JsonNode tree, UnaryOperator<JsonNode> open) {
    if (tree instanceof ObjectNode object) {
      return members(object, (name, value) -> opened(value, open));
    } else if (tree instanceof ArrayNode array) {
      return elements(array, value -> opened(value, open));
    }
    return tree.isBinary() ? open.apply(tree) : tree;
  }

  /** Whether nothing was changed in a tree: then it is the same one. */
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

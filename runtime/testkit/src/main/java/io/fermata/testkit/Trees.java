package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** JSON trees from pairs, and comparisons for which 30 and 30.0 are one number. */
final class Trees {
  private Trees() {}

  static ObjectNode of(Object... pairs) {
    ObjectNode tree = Json.object();
    each(pairs, (path, value) -> tree.set(path, Json.tree(value)));
    return tree;
  }

  static void each(Object[] pairs, BiConsumer<String, @Nullable Object> each) {
    if (pairs.length % 2 != 0) {
      throw new IllegalArgumentException(
          "Give values in pairs of a field and its value; there are " + pairs.length + " items");
    }
    for (int i = 0; i < pairs.length; i += 2) {
      each.accept(String.valueOf(pairs[i]), pairs[i + 1]);
    }
  }

  static JsonNode at(@Nullable JsonNode root, String path) {
    JsonNode node = root == null ? MissingNode.getInstance() : root;
    for (String name : path.split("\\.", -1)) {
      node =
          node.isArray() && name.chars().allMatch(Character::isDigit)
              ? node.path(Integer.parseInt(name))
              : node.path(name);
    }
    return node;
  }

  static boolean same(JsonNode actual, @Nullable Object expected) {
    if (expected == null) {
      return actual.isMissingNode() || actual.isNull();
    }
    return Json.same(actual, Json.tree(expected));
  }

  static String text(@Nullable Object value) {
    return Json.text(Json.tree(value));
  }

  /** A text from shortly before where it differs from another one. */
  static String unlike(String text, String other) {
    int at = 0;
    while (at < Math.min(text.length(), other.length()) && text.charAt(at) == other.charAt(at)) {
      at++;
    }
    int from = Math.max(0, at - 60);
    return (from > 0 ? "…" : "") + Texts.shortened(text.substring(from), 160);
  }
}

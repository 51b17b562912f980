package io.fermata.mcp.rpc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * The restricted schema of forms: an object of texts, numbers, booleans and choices. Clients refuse
 * a form with other words, so those that only narrow a value are left to the check of the reply.
 * Pure.
 */
public final class FormSchema {
  /** The text formats that clients know. */
  private static final Set<String> FORMATS = Set.of("email", "uri", "date", "date-time");

  private FormSchema() {}

  /**
   * A form with the properties of an object.
   *
   * @throws IllegalArgumentException if one does not fit into a form
   */
  public static ObjectNode of(ObjectNode schema) {
    ObjectNode form = Json.object().put("type", "object");
    ObjectNode fields = form.putObject("properties");
    for (Map.Entry<String, JsonNode> property : schema.path("properties").properties()) {
      fields.set(property.getKey(), required(property.getKey(), field(property.getValue())));
    }
    copy(schema, form, "required");
    return form;
  }

  private static ObjectNode required(String name, @Nullable ObjectNode field) {
    if (field == null) {
      throw new IllegalArgumentException(
          "A form cannot ask for %s: make it a text, a number, a boolean, a choice of texts or a list of choices, and no secret"
              .formatted(name));
    }
    return field;
  }

  /** A field of a form; null if a form cannot ask for it, or must not, as it is secret. */
  public static @Nullable ObjectNode field(JsonNode schema) {
    String type = type(schema);
    ObjectNode shown = Json.object().put("type", type);
    boolean simple =
        switch (type) {
          case "string" -> text(schema, shown);
          case "integer", "number" -> number(schema, shown);
          case "boolean" -> true;
          case "array" -> choices(schema, shown);
          default -> false;
        };
    if (!simple || schema.path("writeOnly").asBoolean()) {
      return null;
    }
    copy(schema, shown, "title");
    copy(schema, shown, "description");
    copy(schema, shown, "default");
    return shown;
  }

  /** Forms have no null: a field that is left empty is absent. */
  private static String type(JsonNode schema) {
    JsonNode type = schema.path("type");
    return type.isTextual()
        ? type.asText()
        : each(type)
            .map(JsonNode::asText)
            .filter(name -> !name.equals("null"))
            .collect(Collectors.joining(" or "));
  }

  private static boolean text(JsonNode schema, ObjectNode shown) {
    if (schema.has("const")) {
      shown.putArray("enum").add(schema.path("const"));
      return schema.path("const").isTextual();
    } else if (schema.has("enum")) {
      copy(schema, shown, "enum");
      copy(schema, shown, "enumNames");
      return texts(schema.path("enum"));
    } else if (titled(schema.path("oneOf"))) {
      copy(schema, shown, "oneOf");
      return true;
    }
    copy(schema, shown, "minLength");
    copy(schema, shown, "maxLength");
    if (FORMATS.contains(schema.path("format").asText())) {
      copy(schema, shown, "format");
    }
    return true;
  }

  private static boolean number(JsonNode schema, ObjectNode shown) {
    copy(schema, shown, "minimum");
    copy(schema, shown, "maximum");
    return !schema.has("enum") && !schema.has("const");
  }

  private static boolean choices(JsonNode schema, ObjectNode shown) {
    JsonNode items = schema.path("items");
    copy(schema, shown, "minItems");
    copy(schema, shown, "maxItems");
    ObjectNode choice = shown.putObject("items");
    if (titled(items.path("anyOf"))) {
      copy(items, choice, "anyOf");
      return true;
    }
    choice.put("type", "string").set("enum", items.path("enum"));
    return type(items).equals("string") && texts(items.path("enum"));
  }

  private static boolean texts(JsonNode values) {
    return all(values, JsonNode::isTextual);
  }

  private static boolean titled(JsonNode options) {
    return all(
        options, option -> option.path("const").isTextual() && option.path("title").isTextual());
  }

  private static boolean all(JsonNode values, Predicate<JsonNode> fits) {
    return !values.isEmpty() && each(values).allMatch(fits);
  }

  private static Stream<JsonNode> each(JsonNode values) {
    return StreamSupport.stream(values.spliterator(), false);
  }

  private static void copy(JsonNode from, ObjectNode to, String keyword) {
    if (from.hasNonNull(keyword)) {
      to.set(keyword, from.get(keyword));
    }
  }
}

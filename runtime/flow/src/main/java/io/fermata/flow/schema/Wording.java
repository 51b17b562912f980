package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.Error;
import com.networknt.schema.path.NodePath;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a check found, in words for somebody who knows neither JSON Schema nor its keywords: what is
 * accepted, and what was sent. A secret value is not repeated.
 */
final class Wording {
  private static final int LONGEST_VALUE = 40;
  private static final int LONGEST_LIST = 300;

  private static final Map<String, String> TYPES =
      Map.of(
          "string", "a text",
          "integer", "a whole number",
          "number", "a number",
          "boolean", "true or false",
          "array", "a list",
          "object", "an object",
          "null", "null");

  private static final Map<String, String> FORMATS =
      Map.of(
          "email", "an e-mail address such as ann@example.com",
          "date", "a date such as 2026-12-24",
          "time", "a time with its offset such as 19:30:00Z",
          "date-time", "a moment such as 2026-12-24T19:30:00Z",
          "duration", "a duration such as PT30M",
          "uri", "an address such as https://example.com/",
          "uuid", "a UUID such as 123e4567-e89b-12d3-a456-426614174000");

  private final Error error;
  private final JsonNode limit;
  private final boolean secret;

  private Wording(Error error, JsonNode limit, boolean secret) {
    this.error = error;
    this.limit = limit;
    this.secret = secret;
  }

  /** The words for an error; null if there are none but the library's. */
  static @Nullable String of(Error error, JsonNode schema) {
    NodePath way = error.getEvaluationPath();
    JsonNode at = schema;
    boolean secret = false;
    for (int i = 0; i < way.getNameCount(); i++) {
      Object step = way.getElement(i);
      secret |= at.path("writeOnly").asBoolean();
      at = step instanceof Integer index ? at.path(index) : at.path(step.toString());
    }
    return at.isMissingNode() ? null : new Wording(error, at, secret).text();
  }

  private @Nullable String text() {
    return switch (Objects.requireNonNullElse(error.getKeyword(), "")) {
      case "type" -> "must be " + types() + sent();
      case "enum" -> "must be one of " + listed() + sent();
      case "const" -> "must be " + plain(limit) + sent();
      case "format" -> "must be " + format() + sent();
      case "minimum" -> "must be " + limit + " or more" + sent();
      case "maximum" -> "must be " + limit + " or less" + sent();
      case "exclusiveMinimum" -> "must be more than " + limit + sent();
      case "exclusiveMaximum" -> "must be less than " + limit + sent();
      case "multipleOf" -> "must be a multiple of " + limit + sent();
      case "minLength" -> "must have at least " + counted("character");
      case "maxLength" -> "must have at most " + counted("character");
      case "minItems" -> "must have at least " + counted("element");
      case "maxItems" -> "must have at most " + counted("element");
      case "minProperties" -> "must have at least " + counted("entry");
      case "maxProperties" -> "must have at most " + counted("entry");
      case "uniqueItems" -> "must not have the same element twice";
      case "pattern" -> "must match the regular expression " + limit.asText() + sent();
      case "required" -> "lacks " + name();
      case "additionalProperties" -> "has " + name() + ", which is not known here";
      default -> null;
    };
  }

  private String types() {
    List<String> types = new ArrayList<>();
    for (JsonNode type : limit.isArray() ? limit : List.of(limit)) {
      types.add(TYPES.getOrDefault(type.asText(), type.asText()));
    }
    return String.join(" or ", types);
  }

  private String listed() {
    List<String> values = new ArrayList<>();
    limit.forEach(value -> values.add(plain(value)));
    return Texts.shortened(String.join(", ", values), LONGEST_LIST);
  }

  private static String plain(JsonNode value) {
    return value.isTextual() && !value.textValue().isBlank() ? value.textValue() : Json.text(value);
  }

  private String format() {
    String format = limit.asText();
    return FORMATS.getOrDefault(format, "a text of the format " + format);
  }

  private String counted(String thing) {
    String things = limit.asInt() == 1 ? thing : thing.equals("entry") ? "entries" : thing + "s";
    return limit + " " + things;
  }

  private String name() {
    String name = Objects.requireNonNullElse(error.getProperty(), "a part");
    return Texts.shortened(name, StateSchema.LONGEST_NAME);
  }

  /** What was sent instead; of what has parts only what it is. */
  private String sent() {
    JsonNode value = error.getInstanceNode();
    if (secret || value == null) {
      return "";
    } else if (value.isContainerNode()) {
      return ", not " + (value.isArray() ? "a list" : "an object");
    }
    return ", not " + Texts.shortened(Json.text(value), LONGEST_VALUE);
  }
}

package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What a schema says of the parts of a value. */
final class SchemaParts {
  private static final List<String> SEVERAL = List.of("allOf", "anyOf", "oneOf");

  private SchemaParts() {}

  /** The schema of an element or a member; missing if nothing is said of it. */
  static JsonNode of(JsonNode schema, JsonNode value, String name) {
    JsonNode own = own(schema, value, name);
    if (own.isObject()) {
      return own;
    }
    List<JsonNode> others = new ArrayList<>(0);
    for (String several : SEVERAL) {
      for (JsonNode each : schema.path(several)) {
        JsonNode part = of(each, value, name);
        if (part.isObject()) {
          others.add(part);
        }
      }
    }
    if (others.size() < 2) {
      return others.isEmpty() ? MissingNode.getInstance() : others.get(0);
    }
    ArrayNode all = Json.MAPPER.createArrayNode().addAll(others);
    return Json.object().set("anyOf", all);
  }

  private static JsonNode own(JsonNode schema, JsonNode value, String name) {
    JsonNode named =
        value.isArray()
            ? schema.path("prefixItems").path(Integer.parseInt(name))
            : schema.path("properties").path(name);
    return named.isMissingNode()
        ? schema.path(value.isArray() ? "items" : "additionalProperties")
        : named;
  }

  /** Whether the member of an object may be anything, as the schema says nothing of it. */
  static boolean open(JsonNode schema, String name) {
    return open(schema)
        && !schema.path("properties").has(name)
        && schema.path("allOf").valueStream().allMatch(each -> open(each, name))
        && any(schema.path("anyOf"), name)
        && any(schema.path("oneOf"), name);
  }

  /** Whether an object may have members of which nothing is said. */
  private static boolean open(JsonNode schema) {
    JsonNode type = schema.path("type");
    boolean objects =
        type.isMissingNode()
            || Stream.concat(Stream.of(type), type.valueStream())
                .anyMatch(each -> each.asText().equals("object"));
    JsonNode others = schema.path("additionalProperties");
    return objects
        && !schema.isBoolean()
        && (others.isMissingNode() || (others.isObject() ? others.isEmpty() : others.asBoolean()));
  }

  private static boolean any(JsonNode schemas, String name) {
    return schemas.isEmpty() || schemas.valueStream().anyMatch(each -> open(each, name));
  }
}

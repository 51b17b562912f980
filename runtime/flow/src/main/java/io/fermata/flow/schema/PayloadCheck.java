package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Violation;
import java.util.List;
import java.util.Set;

/**
 * The check of what comes from outside for a field, such as the payload of a signal: its type and
 * its constraints hold, and what is required is there. Names that the field does not have are
 * allowed, as the sender does not write for this flow alone.
 */
final class PayloadCheck {
  private final ObjectNode schema;
  private final Schema check;

  /**
   * @param whole the schema of the state with its computed fields, into which most payloads go
   */
  PayloadCheck(ObjectNode whole, Set<String> secrets) {
    schema = whole.deepCopy();
    for (String path : secrets) {
      StateSchema.property(schema, path).ifPresent(secret -> secret.put("writeOnly", true));
    }
    allowUnknown(schema);
    check = Schemas.check(schema);
  }

  private static void allowUnknown(JsonNode schema) {
    if (schema instanceof ObjectNode object && object.path("additionalProperties").isBoolean()) {
      object.remove("additionalProperties");
    }
    schema.forEach(PayloadCheck::allowUnknown);
  }

  /** Why a value cannot be that of a field. */
  List<Violation> of(String path, JsonNode value) {
    ObjectNode state = Json.object();
    Paths.put(state, path, withoutNulls(value));
    int depth = path.split("\\.", -1).length;
    FirstViolations violations = new FirstViolations();
    for (Error error : check.validate(WholeNumbers.everywhere(state))) {
      // What is around the field may lack other fields.
      if (error.getInstanceLocation().getNameCount() >= depth) {
        violations.add(() -> Schemas.violation(error, schema));
      }
    }
    return violations.listed(path);
  }

  /** A part that is null counts as absent. */
  private static JsonNode withoutNulls(JsonNode value) {
    JsonNode rest = Json.mapped(value, (unusedName, part) -> withoutNulls(part));
    if (rest.isObject()) {
      rest.properties().removeIf(member -> member.getValue().isNull());
    }
    return rest;
  }
}

package io.fermata.flow.route;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.StateSchema;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The state as the function of a rule reads it, field by field, so that the journal can say on what
 * it decided. Every read is written down, the first of each field; a field without a value reads as
 * null.
 *
 * <p>Each read throws {@link IllegalArgumentException} where the state has no such field, or a
 * value of another type.
 */
public final class StateReads {
  private final Facts facts;
  private final StateSchema<?> schema;
  private final Evidence evidence;
  private final Set<String> read = new HashSet<>();

  StateReads(Facts facts, StateSchema<?> schema, Evidence evidence) {
    this.facts = facts;
    this.schema = schema;
    this.evidence = evidence;
  }

  /** One value of the state; null if there is none. */
  public <T> @Nullable T get(String path, Class<T> type) {
    JsonNode value = read(path);
    if (value == null) {
      return null;
    }
    try {
      return Json.read(value, type);
    } catch (JsonProcessingException e) {
      String kind = value.getNodeType().name().toLowerCase(Locale.ROOT);
      throw new IllegalArgumentException(
          "Field %s cannot be read as %s; it holds JSON of type %s"
              .formatted(path, type.getSimpleName(), kind),
          e);
    }
  }

  /** Whether a field has a value that is not the empty text. */
  public boolean has(String path) {
    return Paths.filled(read(path));
  }

  /** How often the run has entered a node. */
  public int visits(String node) {
    int visits = facts.visits(node);
    captured(new Conditions.Subject.Visits(node).text(), IntNode.valueOf(visits));
    return visits;
  }

  private @Nullable JsonNode read(String path) {
    if (schema.typeAt(path) == null) {
      throw schema.unknown(path);
    }
    JsonNode value = facts.value(path);
    captured(path, value);
    return Paths.absent(value) ? null : value;
  }

  private void captured(String what, JsonNode is) {
    if (read.add(what)) {
      evidence.read(what, is);
    }
  }
}

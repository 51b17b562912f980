package io.fermata.flow.route;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import io.fermata.flow.event.Evidence;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.StateSchema;
import java.math.BigDecimal;
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

  /** A text; of a date, a time or an enum its name in JSON. */
  public @Nullable String text(String path) {
    JsonNode value = read(path);
    if (value == null) {
      return null;
    }
    return require(value.isTextual(), path, value, "a text").textValue();
  }

  public @Nullable BigDecimal number(String path) {
    JsonNode value = read(path);
    if (value == null) {
      return null;
    }
    return require(value.isNumber(), path, value, "a number").decimalValue();
  }

  /** A whole number that fits an int. */
  public @Nullable Integer integer(String path) {
    BigDecimal number = number(path);
    if (number == null) {
      return null;
    }
    try {
      return number.intValueExact();
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "Field " + path + " is not an int; read it with number", e);
    }
  }

  public @Nullable Boolean flag(String path) {
    JsonNode value = read(path);
    if (value == null) {
      return null;
    }
    return require(value.isBoolean(), path, value, "true or false").booleanValue();
  }

  /** A value as a Java type: a date, an enum, a record. */
  public <T> @Nullable T value(String path, Class<T> type) {
    JsonNode value = read(path);
    try {
      return value == null ? null : Json.MAPPER.treeToValue(value, type);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "Field " + path + " cannot be read as " + type.getSimpleName() + "; read it as it is", e);
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

  private static JsonNode require(boolean fits, String path, JsonNode value, String wanted) {
    if (!fits) {
      throw new IllegalArgumentException(
          "Field %s is not %s; it holds JSON of type %s"
              .formatted(path, wanted, value.getNodeType().name().toLowerCase(Locale.ROOT)));
    }
    return value;
  }
}

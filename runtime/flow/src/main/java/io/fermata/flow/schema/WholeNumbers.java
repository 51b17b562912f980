package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NumericNode;
import io.fermata.flow.json.BoundedNumbers;
import io.fermata.flow.json.Json;
import java.math.BigDecimal;

/**
 * Whole numbers that are written as decimals, such as 5.0. For JSON Schema they are integers; its
 * validator compares only 64 bits of them with a limit, and Java reads no integer from them.
 */
final class WholeNumbers {
  private WholeNumbers() {}

  /**
   * The same value for the validator, to which it makes no difference how a number is written.
   *
   * @throws BoundedNumbers.TooLong if a number has too many digits
   */
  static JsonNode everywhere(JsonNode value) {
    return hasDecimal(value) ? all(value) : value;
  }

  /**
   * The value with integers where a schema wants them; it keeps the decimals of other numbers.
   *
   * @throws BoundedNumbers.TooLong if a number that is meant for an integer has too many digits
   */
  static JsonNode wanted(JsonNode schema, JsonNode value) {
    return hasDecimal(value) ? read(schema, value) : value;
  }

  private static boolean hasDecimal(JsonNode value) {
    if (value.isContainerNode()) {
      for (JsonNode part : value) {
        if (hasDecimal(part)) {
          return true;
        }
      }
    }
    return value.isFloatingPointNumber();
  }

  private static JsonNode all(JsonNode value) {
    return value.isContainerNode()
        ? Json.mapped(value, (unusedName, part) -> all(part))
        : whole(value);
  }

  private static JsonNode read(JsonNode schema, JsonNode value) {
    if (value.isContainerNode()) {
      return Json.mapped(value, (name, part) -> read(SchemaParts.of(schema, value, name), part));
    }
    return wantsInteger(schema.path("type")) ? whole(value) : value;
  }

  /** Whether the type is integer, or one of several of which no other is a number. */
  private static boolean wantsInteger(JsonNode type) {
    boolean integer = "integer".equals(type.textValue());
    for (JsonNode each : type) {
      if ("number".equals(each.textValue())) {
        return false;
      }
      integer |= "integer".equals(each.textValue());
    }
    return integer;
  }

  private static JsonNode whole(JsonNode value) {
    boolean decimal = value instanceof NumericNode number && !number.isNaN();
    if (!decimal || !value.isFloatingPointNumber()) {
      return value;
    }
    BigDecimal number = BoundedNumbers.bounded(value.decimalValue());
    return number.stripTrailingZeros().scale() <= 0 ? Json.tree(number.toBigInteger()) : value;
  }
}

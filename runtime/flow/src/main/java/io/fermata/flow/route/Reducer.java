package io.fermata.flow.route;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.FieldKind;
import java.math.BigDecimal;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of a field that branches changed. Its result is journaled at the join.
 *
 * <p>It is given the value before the fork and the value of each branch that changed it and has
 * joined, in the order in which the branches were declared; a value that is not there is null. It
 * runs if there is one such branch or more, so that it may build on the value before the fork. What
 * a branch did that failed or was left behind is not among the values, and a branch that holds what
 * was there before has not changed it.
 */
@FunctionalInterface
public interface Reducer {
  @Nullable JsonNode reduce(@Nullable JsonNode before, List<@Nullable JsonNode> values);

  /** The value of the branch that was declared last. */
  static Reducer last() {
    return (before, values) -> values.get(values.size() - 1);
  }

  /** The value of the branch that was declared first. */
  static Reducer first() {
    return (before, values) -> values.get(0);
  }

  /** All that the branches added to a list, behind what it held before. */
  static Reducer append() {
    return (before, values) -> {
      ArrayNode all = Json.MAPPER.createArrayNode();
      if (before instanceof ArrayNode list) {
        all.addAll(list);
      }
      for (JsonNode value : values) {
        if (value instanceof ArrayNode list) {
          for (int i = added(before, list); i < list.size(); i++) {
            all.add(list.get(i));
          }
        }
      }
      return all;
    };
  }

  /** Where begins what was added to a list; in a list that was replaced all of it was. */
  private static int added(@Nullable JsonNode before, ArrayNode list) {
    if (!(before instanceof ArrayNode known) || known.size() > list.size()) {
      return 0;
    }
    for (int i = 0; i < known.size(); i++) {
      if (!Json.same(known.get(i), list.get(i))) {
        return 0;
      }
    }
    return known.size();
  }

  /**
   * The object before the fork with what each branch changed in it, at any depth: the keys that it
   * set and those that it removed. Where several changed the same key, the one declared last
   * counts.
   */
  static Reducer merge() {
    return (before, values) -> {
      JsonNode all = before;
      for (JsonNode value : values) {
        all = changed(all, before, value);
      }
      return all;
    };
  }

  /** A value after the change that leads from one value to another. */
  private static @Nullable JsonNode changed(
      @Nullable JsonNode value, @Nullable JsonNode from, @Nullable JsonNode to) {
    if (from != null && to != null && Json.same(from, to)) {
      return value;
    }
    if (!(value instanceof ObjectNode object) || !(to instanceof ObjectNode after)) {
      return to;
    }
    ObjectNode before = from instanceof ObjectNode known ? known : Json.object();
    Set<String> keys = new LinkedHashSet<>();
    before.fieldNames().forEachRemaining(keys::add);
    after.fieldNames().forEachRemaining(keys::add);
    ObjectNode result = Json.object();
    result.setAll(object);
    for (String key : keys) {
      JsonNode next = changed(object.get(key), before.get(key), after.get(key));
      if (next == null) {
        result.remove(key);
      } else {
        result.set(key, next);
      }
    }
    return result;
  }

  /** The number before the fork and all that the branches added to it. */
  static Reducer sum() {
    return new OfNumbers(
        (before, values) -> {
          BigDecimal base = number(before);
          BigDecimal sum = base;
          for (JsonNode value : values) {
            sum = sum.add(number(value).subtract(base));
          }
          return Json.tree(sum);
        });
  }

  /** The largest number. */
  static Reducer max() {
    return new OfNumbers((before, values) -> extreme(values, 1));
  }

  /** The smallest number. */
  static Reducer min() {
    return new OfNumbers((before, values) -> extreme(values, -1));
  }

  /** Whether it is for fields of a kind; the compiler of a flow refuses it for others. */
  default boolean reduces(FieldKind kind) {
    return true;
  }

  /** One that makes no sense for anything else. */
  record OfNumbers(Reducer numbers) implements Reducer {
    @Override
    public @Nullable JsonNode reduce(@Nullable JsonNode before, List<@Nullable JsonNode> values) {
      return numbers.reduce(before, values);
    }

    @Override
    public boolean reduces(FieldKind kind) {
      return kind == FieldKind.NUMBER || kind == FieldKind.ANY;
    }
  }

  /** A reduction over values of a type. */
  static <T> Reducer of(Class<T> type, BiFunction<@Nullable T, List<@Nullable T>, T> function) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(function, "function");
    return (before, values) ->
        Json.tree(
            function.apply(
                typed(before, type), values.stream().map(value -> typed(value, type)).toList()));
  }

  private static BigDecimal number(@Nullable JsonNode value) {
    return value == null ? BigDecimal.ZERO : value.decimalValue();
  }

  private static @Nullable JsonNode extreme(List<@Nullable JsonNode> values, int sign) {
    JsonNode best = null;
    for (JsonNode value : values) {
      if (value != null && (best == null || number(value).compareTo(number(best)) * sign > 0)) {
        best = value;
      }
    }
    return best;
  }

  private static <T> @Nullable T typed(@Nullable JsonNode value, Class<T> type) {
    return value == null ? null : Json.MAPPER.convertValue(value, type);
  }
}

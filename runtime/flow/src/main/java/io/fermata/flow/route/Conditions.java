package io.fermata.flow.route;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.FieldKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The forms a condition takes. They are data: {@link ConditionEvaluator} tests them, {@link
 * ConditionCheck} refuses.
 */
final class Conditions {
  private Conditions() {}

  static boolean reads(Condition condition, String field) {
    if (condition instanceof Every every) {
      return every.parts().stream().anyMatch(part -> reads(part, field));
    } else if (condition instanceof Some some) {
      return some.parts().stream().anyMatch(part -> reads(part, field));
    } else if (condition instanceof Not not) {
      return reads(not.condition(), field);
    } else if (condition instanceof Comparison comparison) {
      return (comparison.subject() instanceof Subject.Field its && Paths.related(its.path(), field))
          || (comparison.operand() instanceof Operand.Field other
              && Paths.related(other.path(), field));
    }
    String path = condition instanceof Filled f ? f.path() : ((Matching) condition).path();
    return Paths.related(path, field);
  }

  record Every(List<Condition> parts) implements Condition {
    @Override
    public String text() {
      return joined(parts, " and ");
    }
  }

  record Some(List<Condition> parts) implements Condition {
    @Override
    public String text() {
      return joined(parts, " or ");
    }
  }

  private static String joined(List<Condition> parts, String word) {
    return parts.stream().map(part -> part.text()).collect(Collectors.joining(word, "(", ")"));
  }

  record Not(Condition condition) implements Condition {
    @Override
    public String text() {
      String text = condition.text();
      return condition instanceof Every || condition instanceof Some
          ? "not " + text
          : "not (" + text + ")";
    }
  }

  record Comparison(Subject subject, Operator operator, Operand operand) implements Condition {
    @Override
    public String text() {
      return subject.text() + " " + operator.word() + " " + operand.text();
    }
  }

  record Filled(String path) implements Condition {
    static final String WORD = "exists";

    @Override
    public String text() {
      return path + " " + WORD;
    }
  }

  /**
   * @param pattern null if the expression is none
   * @param fault what is wrong with the expression
   */
  record Matching(String path, String regex, @Nullable Pattern pattern, String fault)
      implements Condition {
    static final String WORD = "matches";

    static Matching of(String path, String regex) {
      try {
        return new Matching(
            path, regex, Pattern.compile(Objects.requireNonNull(regex, "regex")), "");
      } catch (PatternSyntaxException e) {
        return new Matching(path, regex, null, e.getDescription());
      }
    }

    @Override
    public String text() {
      return path + " " + WORD + " " + Json.text(Json.tree(regex));
    }
  }

  /** What is compared. */
  sealed interface Subject {
    String text();

    record Field(String path) implements Subject {
      @Override
      public String text() {
        return path;
      }
    }

    record Visits(String node) implements Subject {
      @Override
      public String text() {
        return "visits of " + node;
      }
    }
  }

  /** What it is compared with. */
  sealed interface Operand {
    String text();

    record Constant(JsonNode value) implements Operand {
      @Override
      public String text() {
        return Json.sortedText(value);
      }
    }

    record Field(String path) implements Operand {
      @Override
      public String text() {
        return path;
      }
    }

    /** Something that no value can be compared with. */
    record Unusable(String text, String reason) implements Operand {}

    static Operand of(@Nullable Object value) {
      if (value instanceof Condition.Field field) {
        return new Field(field.path());
      }
      try {
        return new Constant(Json.tree(value));
      } catch (IllegalArgumentException e) {
        return new Unusable("?", "cannot be written as JSON; compare with a plain value");
      }
    }

    /** Whatever is no list has no order, and the text must not depend on one. */
    static Operand ofValues(Collection<?> values) {
      List<JsonNode> constants = new ArrayList<>();
      for (Object value : values) {
        Operand operand = of(value);
        if (operand instanceof Constant constant) {
          constants.add(constant.value());
        } else if (operand instanceof Field field) {
          return new Unusable(
              "[" + field.path() + "]", "lists a field; compare with one field at a time by eq");
        } else {
          return operand;
        }
      }
      if (!(values instanceof List)) {
        constants.sort(Comparator.comparing(Json::sortedText));
      }
      return new Constant(Json.MAPPER.createArrayNode().addAll(constants));
    }
  }

  /** How two values are compared. Where one of them is absent, only the negative ones hold. */
  enum Operator {
    EQ("eq"),
    NE("ne"),
    GT("gt"),
    GTE("gte"),
    LT("lt"),
    LTE("lte"),
    IN("in"),
    NOT_IN("not in");

    private final String word;

    Operator(String word) {
      this.word = word;
    }

    String word() {
      return word;
    }

    /** Whether it asks for more than equality. */
    boolean orders() {
      return this == GT || this == GTE || this == LT || this == LTE;
    }

    boolean lists() {
      return this == IN || this == NOT_IN;
    }

    boolean holds(FieldKind kind, JsonNode is, JsonNode than) {
      if (Paths.absent(is) || Paths.absent(than)) {
        return this == NE || this == NOT_IN;
      }
      return switch (this) {
        case EQ -> kind.same(is, than);
        case NE -> !kind.same(is, than);
        case IN -> among(kind, is, than);
        case NOT_IN -> !among(kind, is, than);
        case GT, GTE, LT, LTE -> {
          OptionalInt order = kind.order(is, than);
          yield order.isPresent() && ordered(order.getAsInt());
        }
      };
    }

    private static boolean among(FieldKind kind, JsonNode is, JsonNode values) {
      for (JsonNode value : values) {
        if (kind.same(is, value)) {
          return true;
        }
      }
      return false;
    }

    private boolean ordered(int order) {
      return switch (this) {
        case GT -> order > 0;
        case GTE -> order >= 0;
        case LT -> order < 0;
        case LTE -> order <= 0;
        default -> throw new IllegalStateException(word + " does not order");
      };
    }
  }
}

package io.fermata.flow.route;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.route.Conditions.Comparison;
import io.fermata.flow.route.Conditions.Every;
import io.fermata.flow.route.Conditions.Filled;
import io.fermata.flow.route.Conditions.Matching;
import io.fermata.flow.route.Conditions.Not;
import io.fermata.flow.route.Conditions.Operand;
import io.fermata.flow.route.Conditions.Operator;
import io.fermata.flow.route.Conditions.Some;
import io.fermata.flow.route.Conditions.Subject;
import io.fermata.flow.schema.FieldKind;
import io.fermata.flow.schema.StateSchema;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds what is wrong with the rules of a decision before any run tries them. */
public final class ConditionCheck {
  private final StateSchema<?> schema;
  private final Set<String> nodes;
  private final List<String> defects = new ArrayList<>();

  private ConditionCheck(StateSchema<?> schema, Set<String> nodes) {
    this.schema = schema;
    this.nodes = nodes;
  }

  /** What is wrong with the rules of the decision after a node, in whole sentences. */
  public static List<String> rules(
      String from, List<Route.Rule> rules, StateSchema<?> schema, Set<String> nodes) {
    List<String> defects = new ArrayList<>();
    Set<String> labels = new HashSet<>();
    for (Route.Rule rule : rules) {
      String name = "The rule \"" + rule.label() + "\" after " + from;
      if (rule.label().isBlank()) {
        defects.add("A rule after " + from + " has a blank label; say in it what the rule means");
      } else if (!labels.add(rule.label())) {
        defects.add(name + " is there twice; give one of the two another label");
      }
      if (rule.test() instanceof Route.Test.Holds holds) {
        condition(holds.condition(), schema, nodes).forEach(d -> defects.add(name + " " + d));
      }
    }
    return defects;
  }

  /** What is wrong with a condition, as predicates to go with the name of what it belongs to. */
  static List<String> condition(Condition condition, StateSchema<?> schema, Set<String> nodes) {
    ConditionCheck check = new ConditionCheck(schema, nodes);
    check.check(condition);
    return check.defects.stream().distinct().toList();
  }

  private void check(Condition condition) {
    if (condition instanceof Every every) {
      parts("and", every.parts());
    } else if (condition instanceof Some some) {
      parts("or", some.parts());
    } else if (condition instanceof Not not) {
      check(not.condition());
    } else if (condition instanceof Comparison comparison) {
      comparison(comparison);
    } else if (condition instanceof Filled filled) {
      type(filled.path());
    } else if (condition instanceof Matching matching) {
      matching(matching);
    }
  }

  private void parts(String word, List<Condition> parts) {
    if (parts.isEmpty()) {
      defects.add("has an " + word + "() of nothing; put conditions into it, or leave it out");
    }
    parts.forEach(this::check);
  }

  private void matching(Matching matching) {
    JavaType type = type(matching.path());
    if (type != null
        && FieldKind.of(type) != FieldKind.TEXT
        && FieldKind.of(type) != FieldKind.ANY) {
      misfit(matching, matching.path(), type, "only a text can match");
    }
    if (matching.pattern() == null) {
      defects.add(
          "says %s, which is no regular expression: %s; correct it"
              .formatted(matching.text(), matching.fault()));
    }
  }

  private void comparison(Comparison comparison) {
    Operand operand = comparison.operand();
    if (operand instanceof Operand.Unusable unusable) {
      defects.add("says " + comparison.text() + ", but what it compares with " + unusable.reason());
    }
    if (comparison.subject() instanceof Subject.Visits visits) {
      if (!nodes.contains(visits.node())) {
        defects.add(
            "counts the visits of %s, but there is no such node%s"
                .formatted(visits.node(), Nearest.suggestion(visits.node(), nodes)));
      }
      return;
    }
    String path = comparison.subject().text();
    JavaType type = type(path);
    if (operand instanceof Operand.Field other) {
      JavaType otherType = type(other.path());
      if (type != null && otherType != null && ordered(comparison, path, type)) {
        fields(comparison, type, other.path(), otherType);
      }
    } else if (operand instanceof Operand.Constant constant) {
      if (type == null || ordered(comparison, path, type)) {
        values(comparison, path, type, constant.value());
      }
    }
  }

  /** Whether a comparison demands no order of what has none. */
  private boolean ordered(Comparison comparison, String path, JavaType type) {
    if (comparison.operator().orders() && !FieldKind.of(type).ordered()) {
      misfit(comparison, path, type, "compare it with eq, ne, in or notIn");
      return false;
    }
    return true;
  }

  private void fields(Comparison comparison, JavaType type, String other, JavaType otherType) {
    boolean orders = comparison.operator().orders();
    if (!FieldKind.comparable(type, otherType) || (orders && !FieldKind.of(otherType).ordered())) {
      misfit(
          comparison,
          comparison.subject().text(),
          type,
          other + " is " + FieldKind.words(otherType) + "; compare fields of one type");
    }
  }

  private void values(Comparison comparison, String path, @Nullable JavaType type, JsonNode value) {
    Operator operator = comparison.operator();
    if (operator.lists() && value.isEmpty()) {
      defects.add("says " + comparison.text() + ", which lists no value; name at least one");
    }
    for (JsonNode one : operator.lists() ? value : List.of(value)) {
      value(comparison, path, type, one);
    }
  }

  private void value(Comparison comparison, String path, @Nullable JavaType type, JsonNode value) {
    if (value.isNull()) {
      defects.add(
          "says %s, but null is no value; use exists or not(exists) instead"
              .formatted(comparison.text()));
    } else if (type != null
        && !(comparison.operator().orders()
            ? FieldKind.orders(type, value)
            : FieldKind.holds(type, value))) {
      misfit(comparison, path, type, "compare it with such a value");
    }
  }

  private void misfit(Condition condition, String path, JavaType type, String repair) {
    defects.add(
        "says %s, but %s is %s; %s"
            .formatted(condition.text(), path, FieldKind.words(type), repair));
  }

  /** The type of a field; null, and a defect, if there is none. */
  private @Nullable JavaType type(String path) {
    JavaType type = schema.typeAt(path);
    if (type == null) {
      defects.add(
          "reads %s, which the state does not have%s"
              .formatted(path, Nearest.suggestion(path, schema.paths())));
    }
    return type;
  }
}

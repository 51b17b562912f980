package io.fermata.flow.route;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Paths;
import io.fermata.flow.route.Conditions.Comparison;
import io.fermata.flow.route.Conditions.Every;
import io.fermata.flow.route.Conditions.Filled;
import io.fermata.flow.route.Conditions.Matching;
import io.fermata.flow.route.Conditions.Not;
import io.fermata.flow.route.Conditions.Operand;
import io.fermata.flow.route.Conditions.Some;
import io.fermata.flow.route.Conditions.Subject;
import io.fermata.flow.schema.FieldKind;
import io.fermata.flow.schema.StateSchema;
import java.util.regex.Pattern;

/** Tests a condition against the facts and writes down every comparison it makes. */
final class ConditionEvaluator {
  private final Facts facts;
  private final StateSchema<?> schema;
  private final Evidence evidence;

  ConditionEvaluator(Facts facts, StateSchema<?> schema, Evidence evidence) {
    this.facts = facts;
    this.schema = schema;
    this.evidence = evidence;
  }

  boolean holds(Condition condition) {
    if (condition instanceof Every every) {
      return every.parts().stream().allMatch(this::holds);
    } else if (condition instanceof Some some) {
      return some.parts().stream().anyMatch(this::holds);
    } else if (condition instanceof Not not) {
      return !holds(not.condition());
    } else if (condition instanceof Comparison comparison) {
      return compare(comparison);
    } else if (condition instanceof Filled filled) {
      return exists(filled);
    }
    return matches((Matching) condition);
  }

  private boolean compare(Comparison comparison) {
    String operator = comparison.operator().word();
    JsonNode is = is(comparison.subject());
    JsonNode than;
    if (comparison.operand() instanceof Operand.Field field) {
      than = facts.value(field.path());
      operator += " " + field.path();
    } else if (comparison.operand() instanceof Operand.Constant constant) {
      than = constant.value();
    } else {
      throw unchecked(comparison);
    }
    boolean held = comparison.operator().holds(kind(comparison.subject()), is, than);
    evidence.compared(comparison.subject().text(), is, operator, than, held);
    return held;
  }

  private JsonNode is(Subject subject) {
    return subject instanceof Subject.Visits visits
        ? IntNode.valueOf(facts.visits(visits.node()))
        : facts.value(subject.text());
  }

  private FieldKind kind(Subject subject) {
    if (subject instanceof Subject.Visits) {
      return FieldKind.NUMBER;
    }
    JavaType type = schema.typeAt(subject.text());
    return type == null ? FieldKind.ANY : FieldKind.of(type);
  }

  private boolean exists(Filled filled) {
    JsonNode is = facts.value(filled.path());
    boolean held = Paths.filled(is);
    evidence.compared(filled.path(), is, Filled.WORD, null, held);
    return held;
  }

  private boolean matches(Matching matching) {
    Pattern pattern = matching.pattern();
    if (pattern == null) {
      throw unchecked(matching);
    }
    JsonNode is = facts.value(matching.path());
    boolean held =
        is.isTextual()
            && is.textValue().length() <= Condition.LONGEST_MATCHED
            && pattern.matcher(is.textValue()).matches();
    evidence.compared(matching.path(), is, Matching.WORD, TextNode.valueOf(matching.regex()), held);
    return held;
  }

  private static IllegalStateException unchecked(Condition condition) {
    return new IllegalStateException("A flow with a defect runs: " + condition.text());
  }
}

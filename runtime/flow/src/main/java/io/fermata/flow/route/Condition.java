package io.fermata.flow.route;

import io.fermata.flow.FlowBuilder;
import io.fermata.flow.json.Given;
import io.fermata.flow.route.Conditions.Operand;
import io.fermata.flow.route.Conditions.Operator;
import io.fermata.flow.route.Conditions.Subject;
import java.util.Collection;

/**
 * What must hold of a run's state for a rule to match, written so that the journal can say which
 * values decided.
 *
 * <pre>{@code
 * and(gte("guests", 6), not(exists("phone")))
 * in("segment", Segment.COMPANY, Segment.AGENCY)
 * gt("seats", field("limit"))
 * visits("ask_pin").gte(3)
 * }</pre>
 *
 * <p>Numbers, texts, dates and times compare by value: {@code 1} equals {@code 1.0}, and {@code
 * 19:30} equals {@code 19:30:00}. A value may be given as what the field holds or as its JSON: an
 * enum or its name, a {@code LocalDate} or its ISO text. Of a field without a value only {@code ne}
 * and {@code notIn} hold. What can never be meant, such as an unknown field or a text compared with
 * a number, {@link FlowBuilder#compile} refuses.
 */
public sealed interface Condition
    permits Conditions.Every,
        Conditions.Some,
        Conditions.Not,
        Conditions.Comparison,
        Conditions.Filled,
        Conditions.Matching {

  /** The longest text that {@link #matches} looks at; a longer one does not match. */
  int LONGEST_MATCHED = 10_000;

  /** As people read it: {@code seats gt 6}. */
  String text();

  /** Equal to a value, or to another {@link #field}. */
  static Condition eq(String path, Object value) {
    return compare(path, Operator.EQ, value);
  }

  /** Not equal to a value, or to another {@link #field}; holds of a field without a value, too. */
  static Condition ne(String path, Object value) {
    return compare(path, Operator.NE, value);
  }

  /** Greater, or later, than a value or another {@link #field}. */
  static Condition gt(String path, Object value) {
    return compare(path, Operator.GT, value);
  }

  static Condition gte(String path, Object value) {
    return compare(path, Operator.GTE, value);
  }

  /** Less, or earlier, than a value or another {@link #field}. */
  static Condition lt(String path, Object value) {
    return compare(path, Operator.LT, value);
  }

  static Condition lte(String path, Object value) {
    return compare(path, Operator.LTE, value);
  }

  /** Equal to one of the values. */
  static Condition in(String path, Object... values) {
    return in(path, Given.listed(values));
  }

  static Condition in(String path, Collection<?> values) {
    return new Conditions.Comparison(
        new Subject.Field(path), Operator.IN, Operand.ofValues(values));
  }

  /** Equal to none of the values; holds of a field without a value, too. */
  static Condition notIn(String path, Object... values) {
    return notIn(path, Given.listed(values));
  }

  static Condition notIn(String path, Collection<?> values) {
    return new Conditions.Comparison(
        new Subject.Field(path), Operator.NOT_IN, Operand.ofValues(values));
  }

  /** Has a value that is not the empty text. */
  static Condition exists(String path) {
    return new Conditions.Filled(path);
  }

  /** A text that matches a regular expression as a whole. */
  static Condition matches(String path, String regex) {
    return Conditions.Matching.of(path, regex);
  }

  /** All of these; what follows one that does not hold is not looked at. */
  static Condition and(Condition... parts) {
    return new Conditions.Every(Given.listed(parts));
  }

  /** One of these; what follows one that holds is not looked at. */
  static Condition or(Condition... parts) {
    return new Conditions.Some(Given.listed(parts));
  }

  static Condition not(Condition condition) {
    return new Conditions.Not(condition);
  }

  /** Another field, to compare with. */
  static Field field(String path) {
    return new Field(path);
  }

  /** The number of times that the run has entered a node, to be compared. */
  static Visits visits(String node) {
    return new Visits(node);
  }

  /** A field on the right side of a comparison. */
  record Field(String path) {}

  /** The number of times that a run has entered a node, on the left side of a comparison. */
  record Visits(String node) {
    public Condition eq(int times) {
      return compare(Operator.EQ, times);
    }

    public Condition ne(int times) {
      return compare(Operator.NE, times);
    }

    public Condition gt(int times) {
      return compare(Operator.GT, times);
    }

    public Condition gte(int times) {
      return compare(Operator.GTE, times);
    }

    public Condition lt(int times) {
      return compare(Operator.LT, times);
    }

    public Condition lte(int times) {
      return compare(Operator.LTE, times);
    }

    private Condition compare(Operator operator, int times) {
      return new Conditions.Comparison(new Subject.Visits(node), operator, Operand.of(times));
    }
  }

  private static Condition compare(String path, Operator operator, Object value) {
    return new Conditions.Comparison(new Subject.Field(path), operator, Operand.of(value));
  }
}

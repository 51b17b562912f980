package io.fermata.flow;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A choice between ways out of a node: the first rule that matches decides, and {@code otherwise}
 * takes the rest. Targets are declared, so the graph is known before it runs.
 *
 * <pre>{@code
 * .decide("classify", d -> d.when("company", q -> q.segment() == COMPANY).to("ask_company")
 *                           .otherwise("price"))
 * }</pre>
 */
public final class Decision<S extends Record> {
  private final List<Route.Rule<S>> rules = new ArrayList<>();
  private @Nullable String otherwise;
  private int begun;

  Decision() {}

  /**
   * Begins a rule.
   *
   * @param label what the rule means, for the journal and the picture
   * @param condition quick, and touches nothing outside
   */
  public When<S> when(String label, Predicate<S> condition) {
    begun++;
    return new When<>(this, label, condition);
  }

  /** Where to go when no rule matches. */
  public Decision<S> otherwise(String target) {
    otherwise = target;
    return this;
  }

  /** A rule that still lacks its target. */
  public static final class When<S extends Record> {
    private final Decision<S> decision;
    private final String label;
    private final Predicate<S> condition;

    private When(Decision<S> decision, String label, Predicate<S> condition) {
      this.decision = decision;
      this.label = label;
      this.condition = condition;
    }

    public Decision<S> to(String target) {
      decision.rules.add(new Route.Rule<>(label, condition, target));
      return decision;
    }
  }

  boolean complete() {
    return otherwise != null && !rules.isEmpty() && rules.size() == begun;
  }

  Route.Choice<S> build() {
    return new Route.Choice<>(List.copyOf(rules), otherwise == null ? "" : otherwise);
  }
}

package io.fermata.flow.route;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A choice between ways out of a node: the first rule that matches decides, and {@code otherwise}
 * takes the rest. Targets are declared, so the graph is known before it runs, and the journal keeps
 * what each rule looked at.
 *
 * <pre>{@code
 * .decide("classify", d -> d.when("company", eq("segment", COMPANY)).to("ask_company")
 *                           .otherwise("price"))
 * }</pre>
 */
public final class Decision {
  private final List<Route.Rule> rules = new ArrayList<>();
  private @Nullable String otherwise;
  private boolean otherwiseTwice;
  private int begun;

  public Decision() {}

  /** Begins a rule that is called what its condition says. */
  public When<Decision> when(Condition condition) {
    return when(condition.text(), condition);
  }

  /**
   * Begins a rule.
   *
   * @param label what the rule means, for the journal and the picture
   */
  public When<Decision> when(String label, Condition condition) {
    return begin(label, new Route.Test.Holds(condition));
  }

  /**
   * Begins a rule that no condition can say. If the function throws, the run stops there, and the
   * journal keeps what it had read.
   *
   * @param label what the rule means, for the journal and the picture
   * @param function quick, touches nothing outside, and decides on what it reads here alone
   */
  public When<Decision> when(String label, Predicate<StateReads> function) {
    return begin(label, new Route.Test.Passes(function));
  }

  private When<Decision> begin(String label, Route.Test test) {
    begun++;
    return new When<>(this, target -> rules.add(new Route.Rule(label, test, target)));
  }

  /** Where to go when no rule matches. */
  public Decision otherwise(String target) {
    otherwiseTwice |= otherwise != null;
    otherwise = target;
    return this;
  }

  /** What is wrong with it, each without its subject. */
  public List<String> defects() {
    List<String> defects = new ArrayList<>();
    if (otherwise == null || rules.isEmpty() || rules.size() < begun) {
      defects.add(
          "needs at least one rule, a target for each, and an otherwise; add what is missing");
    }
    if (otherwiseTwice) {
      defects.add("has two targets for otherwise; keep one");
    }
    return defects;
  }

  public Route build() {
    return new Route.Choice(List.copyOf(rules), otherwise == null ? "" : otherwise);
  }
}

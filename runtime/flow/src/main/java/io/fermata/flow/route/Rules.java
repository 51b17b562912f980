package io.fermata.flow.route;

import io.fermata.flow.event.Event;
import io.fermata.flow.json.Failures;
import io.fermata.flow.schema.StateSchema;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tries the rules of a decision against the facts. */
public final class Rules {
  private Rules() {}

  /**
   * The outcome of trying the rules.
   *
   * @param tried the rules that were tried, in order; the last one threw if there is a failure
   * @param targets where the rules that matched lead; empty if there is a failure
   * @param failure what a rule threw
   */
  public record Found(List<Event.Tried> tried, List<String> targets, @Nullable Throwable failure) {}

  /** Tries rules until one matches. */
  public static Found first(List<Route.Rule> rules, Facts facts, StateSchema<?> schema) {
    return attempt(rules, facts, schema, true);
  }

  /** Tries every rule. */
  public static Found all(List<Route.Rule> rules, Facts facts, StateSchema<?> schema) {
    return attempt(rules, facts, schema, false);
  }

  private static Found attempt(
      List<Route.Rule> rules, Facts facts, StateSchema<?> schema, boolean untilOneMatches) {
    List<Event.Tried> tried = new ArrayList<>();
    List<String> targets = new ArrayList<>();
    for (Route.Rule rule : rules) {
      Evidence evidence = new Evidence();
      boolean matched;
      try {
        matched = matches(rule.test(), facts, schema, evidence);
      } catch (Throwable e) {
        Failures.rethrowFatal(e);
        tried.add(new Event.Tried(rule.label(), false, evidence.seen()));
        return new Found(List.copyOf(tried), List.of(), e);
      }
      tried.add(new Event.Tried(rule.label(), matched, evidence.seen()));
      if (matched) {
        targets.add(rule.target());
        if (untilOneMatches) {
          break;
        }
      }
    }
    return new Found(List.copyOf(tried), List.copyOf(targets), null);
  }

  private static boolean matches(
      Route.Test test, Facts facts, StateSchema<?> schema, Evidence evidence) {
    if (test instanceof Route.Test.Holds holds) {
      return new ConditionEvaluator(facts, schema, evidence).holds(holds.condition());
    }
    Route.Test.Passes passes = (Route.Test.Passes) test;
    return passes.function().test(new StateReads(facts, schema, evidence));
  }
}

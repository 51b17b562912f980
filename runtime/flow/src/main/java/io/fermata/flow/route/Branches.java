package io.fermata.flow.route;

import io.fermata.flow.FlowBuilder;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Branches that run side by side and come together at a node. A branch is what lies between its
 * first node and the join; nothing leads into or out of it but these.
 *
 * <pre>{@code
 * .fork("plan", f -> f.branch("ask_flight").branch("ask_hotel").join("book"))
 * .select("triage", s -> s.when("needs a visa", eq("visa", true)).to("ask_passport")
 *                         .when("by car", eq("travel", CAR)).to("ask_licence")
 *                         .join("offer"))
 * }</pre>
 *
 * <p>Branches do not see one another's writes. At the join a field that several of them changed
 * differently is reduced as {@link FlowBuilder#reduce} says, or is an error.
 */
public final class Branches {
  private final List<Route.Arm> arms = new ArrayList<>();
  private @Nullable String otherwise;
  private @Nullable String join;
  private final Set<String> twice = new LinkedHashSet<>();
  private Joining joining = Joining.ALL;
  private int begun;

  public Branches() {}

  /** A branch that is always taken. */
  public Branches branch(String firstNode) {
    begun++;
    arms.add(new Route.Arm(null, firstNode));
    return this;
  }

  /** Begins a rule; its text is its label. */
  public When<Branches> when(Condition condition) {
    return when(condition.text(), condition);
  }

  public When<Branches> when(String label, Condition condition) {
    return when(label, new Route.Test.Holds(condition));
  }

  /** Begins a rule that is a function; what it reads is kept as evidence. */
  public When<Branches> when(String label, Predicate<StateReads> function) {
    return when(label, new Route.Test.Passes(function));
  }

  private When<Branches> when(String label, Route.Test test) {
    begun++;
    return new When<>(
        this, first -> arms.add(new Route.Arm(new Route.Rule(label, test, first), first)));
  }

  /** The branch to take when no other is. Without it the run then goes straight to the join. */
  public Branches otherwise(String firstNode) {
    if (otherwise != null) {
      twice.add("branches for otherwise");
    }
    otherwise = Objects.requireNonNull(firstNode, "firstNode");
    return this;
  }

  /** Where the branches come together. */
  public Branches join(String node) {
    if (join != null) {
      twice.add("joins");
    }
    join = node;
    return this;
  }

  /** The join waits for the first branch only; the others are dropped, and undone. */
  public Branches first() {
    return quorum(1);
  }

  /** The join waits for so many branches; the others are dropped, and undone. */
  public Branches quorum(int branches) {
    joining = joining.needed(branches);
    return this;
  }

  /**
   * When a branch fails, the others stop at once, and continue when the failed step is retried.
   * Without this only the branch that failed halts.
   */
  public Branches failFast() {
    joining = joining.failFast();
    return this;
  }

  /**
   * A branch that fails is dropped, and the join continues without it.
   *
   * @param field a list that gets each failure: {@code branch}, {@code code}, {@code message}
   */
  public Branches collect(String field) {
    joining = joining.collect(field);
    return this;
  }

  /** What is wrong with them, each without its subject. */
  public List<String> defects() {
    List<String> defects = new ArrayList<>();
    if (join == null || arms.isEmpty() || arms.size() < begun) {
      defects.add(
          "needs at least one branch, a first node for each, and a join; add what is missing");
    }
    twice.forEach(what -> defects.add("has two " + what + "; keep one"));
    return defects;
  }

  public Route build() {
    return new Route.Fork(List.copyOf(arms), otherwise, join == null ? "" : join, joining);
  }
}

package io.fermata.flow.route;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The way out of a node. */
public sealed interface Route {
  List<String> targets();

  /** All that it depends on, as far as it is known: conditions without their labels. */
  String text();

  /** The rules that choose between its targets. */
  default List<Rule> rules() {
    return List.of();
  }

  /** Always the same way. */
  record Edge(String to) implements Route {
    @Override
    public List<String> targets() {
      return List.of(to);
    }

    @Override
    public String text() {
      return to;
    }
  }

  /** The first rule that matches, or else the last way. */
  record Choice(List<Rule> rules, String otherwise) implements Route {
    @Override
    public List<String> targets() {
      List<String> targets = new ArrayList<>();
      rules.forEach(rule -> targets.add(rule.target()));
      targets.add(otherwise);
      return targets.stream().distinct().toList();
    }

    @Override
    public String text() {
      return rules.stream().map(Rule::text).toList() + " otherwise " + otherwise;
    }
  }

  /**
   * Several ways at once, which come together again.
   *
   * @param otherwise the branch to take if no rule matches and none is unconditional; without it
   *     the run goes straight to the join
   */
  record Fork(List<Arm> arms, @Nullable String otherwise, String join, Joining joining)
      implements Route {
    @Override
    public List<Rule> rules() {
      List<Rule> rules = new ArrayList<>();
      for (Arm arm : arms) {
        if (arm.rule() != null) {
          rules.add(arm.rule());
        }
      }
      return rules;
    }

    /** The first nodes of its branches. */
    public List<String> heads() {
      List<String> heads = new ArrayList<>();
      arms.forEach(arm -> heads.add(arm.head()));
      if (otherwise != null) {
        heads.add(otherwise);
      }
      return heads.stream().distinct().toList();
    }

    @Override
    public List<String> targets() {
      List<String> targets = new ArrayList<>(heads());
      if (!targets.contains(join)) {
        targets.add(join);
      }
      return targets;
    }

    @Override
    public String text() {
      return "%s otherwise %s join %s %s"
          .formatted(arms.stream().map(Arm::text).toList(), otherwise, join, joining);
    }
  }

  /** A branch, and the rule under which it is taken; without a rule it always is. */
  record Arm(@Nullable Rule rule, String head) {
    private String text() {
      return rule == null ? head : rule.text();
    }
  }

  record Rule(String label, Test test, String target) {
    /** Whether its test may look at a field; a function may look at any. */
    public boolean mayRead(String field) {
      return !(test instanceof Test.Holds holds) || Conditions.reads(holds.condition(), field);
    }

    /** Of a function only the label is known. */
    private String text() {
      String when = test instanceof Test.Holds holds ? holds.condition().text() : '"' + label + '"';
      return when + " -> " + target;
    }
  }

  /** What makes a rule match. */
  sealed interface Test {
    record Holds(Condition condition) implements Test {}

    record Passes(Predicate<StateReads> function) implements Test {}
  }
}

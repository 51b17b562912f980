package io.fermata.flow;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** The way out of a node. */
sealed interface Route<S extends Record> {
  List<String> targets();

  /** Always the same way. */
  record Edge<S extends Record>(String to) implements Route<S> {
    @Override
    public List<String> targets() {
      return List.of(to);
    }
  }

  /** The first rule that matches, or else the last way. */
  record Choice<S extends Record>(List<Rule> rules, String otherwise) implements Route<S> {
    @Override
    public List<String> targets() {
      List<String> targets = new ArrayList<>();
      rules.forEach(rule -> targets.add(rule.target()));
      targets.add(otherwise);
      return targets.stream().distinct().toList();
    }
  }

  record Rule(String label, Test test, String target) {}

  /** What makes a rule match. */
  sealed interface Test {
    record Holds(Condition condition) implements Test {}

    record Passes(Predicate<Reads> function) implements Test {}
  }
}

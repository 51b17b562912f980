package io.fermata.flow.route;

import java.util.function.Consumer;

/** A rule of a {@link Decision} or of {@link Branches} that still lacks its target. */
public final class When<B> {
  private final B rules;
  private final Consumer<String> rule;

  When(B rules, Consumer<String> rule) {
    this.rules = rules;
    this.rule = rule;
  }

  /** The node that is next when the rule matches; of branches, the first node of the branch. */
  public B to(String node) {
    rule.accept(node);
    return rules;
  }
}

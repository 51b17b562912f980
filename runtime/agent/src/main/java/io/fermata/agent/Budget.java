package io.fermata.agent;

import io.fermata.agent.model.Dollars;
import io.fermata.agent.model.Usage;
import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/**
 * The total usage limit of a thread and of the threads that it puts to work. Once it is reached, no
 * further step starts in any of them: they stop with {@code budget_spent}. It holds after a
 * handoff, too.
 *
 * @param tokens tokens read and written; 0 for any number
 * @param cost in US dollars; null for any
 */
public record Budget(long tokens, @Nullable BigDecimal cost) {
  public static final Budget NONE = new Budget(0, null);

  public Budget {
    if (tokens < 0 || (cost != null && cost.signum() < 0)) {
      throw new IllegalArgumentException(
          "A budget of %s cannot be spent; give more than zero"
              .formatted(tokens < 0 ? tokens + " tokens" : cost + " dollars"));
    }
  }

  /** At most so many tokens, read and written. */
  public static Budget tokens(long tokens) {
    if (tokens == 0) {
      throw new IllegalArgumentException(
          "A budget of 0 tokens allows no step; give more, or leave the budget out for no limit");
    }
    return new Budget(tokens, null);
  }

  /** At most so many US dollars: {@code cost("2.50")}. */
  public static Budget cost(String dollars) {
    return NONE.andCost(dollars);
  }

  /** Whether this much reaches it. */
  public boolean spent(Usage usage) {
    boolean all = tokens > 0 && usage.inputTokens() + usage.outputTokens() >= tokens;
    return all || (cost != null && usage.cost().compareTo(cost) >= 0);
  }

  public Budget andCost(String dollars) {
    BigDecimal cost = Dollars.read("The cost of a budget", dollars);
    if (cost.signum() == 0) {
      throw new IllegalArgumentException(
          "A budget of 0 dollars allows no step; give more, or leave the budget out for no limit");
    }
    return new Budget(tokens, cost);
  }
}

package io.fermata.agent;

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

  public static Budget tokens(long tokens) {
    return new Budget(tokens, null);
  }

  public static Budget cost(String dollars) {
    return new Budget(0, new BigDecimal(dollars));
  }

  /** Whether this much reaches it. */
  public boolean spent(Usage usage) {
    boolean all = tokens > 0 && usage.inputTokens() + usage.outputTokens() >= tokens;
    return all || (cost != null && usage.cost().compareTo(cost) >= 0);
  }

  public Budget andCost(String dollars) {
    return new Budget(tokens, new BigDecimal(dollars));
  }
}

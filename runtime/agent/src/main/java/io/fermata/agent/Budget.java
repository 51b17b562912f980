package io.fermata.agent;

import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/**
 * The total usage limit of a thread's models. Once it is reached, no further step starts: the
 * thread stops with {@code budget_spent}.
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

  public Budget andCost(String dollars) {
    return new Budget(tokens, new BigDecimal(dollars));
  }
}

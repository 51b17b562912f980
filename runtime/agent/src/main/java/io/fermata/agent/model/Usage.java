package io.fermata.agent.model;

import java.math.BigDecimal;

/**
 * Tokens and their cost.
 *
 * @param inputTokens all input tokens, including cached ones
 * @param cachedTokens the cached input tokens
 * @param cost in US dollars; zero for a model without a price
 */
public record Usage(long inputTokens, long cachedTokens, long outputTokens, BigDecimal cost) {
  public static final Usage ZERO = new Usage(0, 0, 0, BigDecimal.ZERO);

  /** Costs are normalized, so that equal usages are equal. */
  public Usage {
    BigDecimal shortest = cost.stripTrailingZeros();
    cost = shortest.scale() < 0 ? shortest.setScale(0) : shortest;
  }

  public Usage plus(Usage more) {
    return new Usage(
        inputTokens + more.inputTokens,
        cachedTokens + more.cachedTokens,
        outputTokens + more.outputTokens,
        cost.add(more.cost));
  }
}

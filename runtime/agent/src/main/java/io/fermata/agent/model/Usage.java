package io.fermata.agent.model;

import java.math.BigDecimal;

/**
 * Tokens, and what they cost.
 *
 * @param inputTokens all of the input, what came from a cache included
 * @param cachedTokens how much of the input came from a cache
 * @param cost in US dollars; zero for a model without a price
 */
public record Usage(long inputTokens, long cachedTokens, long outputTokens, BigDecimal cost) {
  public static final Usage ZERO = new Usage(0, 0, 0, BigDecimal.ZERO);

  /** Equal costs are written alike, so that equal usages are equal. */
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

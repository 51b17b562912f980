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

  /** Whether it is a later value of a growing total than another. */
  public boolean follows(Usage earlier) {
    return !equals(earlier)
        && inputTokens >= earlier.inputTokens
        && cachedTokens >= earlier.cachedTokens
        && outputTokens >= earlier.outputTokens
        && cost.compareTo(earlier.cost) >= 0;
  }

  /** For people and models. */
  public String words() {
    return "%s tokens and %s US dollars used"
        .formatted(inputTokens + outputTokens, cost.toPlainString());
  }

  public Usage minus(Usage earlier) {
    return new Usage(
        inputTokens - earlier.inputTokens,
        cachedTokens - earlier.cachedTokens,
        outputTokens - earlier.outputTokens,
        cost.subtract(earlier.cost));
  }

  public Usage plus(Usage more) {
    return new Usage(
        inputTokens + more.inputTokens,
        cachedTokens + more.cachedTokens,
        outputTokens + more.outputTokens,
        cost.add(more.cost));
  }
}

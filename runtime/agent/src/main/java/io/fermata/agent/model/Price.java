package io.fermata.agent.model;

import java.math.BigDecimal;

/** US dollars for a million tokens each. */
record Price(BigDecimal input, BigDecimal output, BigDecimal cached) {
  static final Price FREE = new Price(BigDecimal.ZERO, BigDecimal.ZERO, BigDecimal.ZERO);

  Usage usage(long inputTokens, long cachedTokens, long outputTokens) {
    BigDecimal cost =
        input
            .multiply(BigDecimal.valueOf(inputTokens - cachedTokens))
            .add(cached.multiply(BigDecimal.valueOf(cachedTokens)))
            .add(output.multiply(BigDecimal.valueOf(outputTokens)));
    return new Usage(inputTokens, cachedTokens, outputTokens, cost.movePointLeft(6));
  }
}

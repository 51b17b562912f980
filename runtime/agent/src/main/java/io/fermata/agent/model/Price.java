package io.fermata.agent.model;

import java.math.BigDecimal;

/** US dollars for a million tokens each. */
record Price(BigDecimal input, BigDecimal output, BigDecimal cached) {
  static final Price FREE = new Price(BigDecimal.ZERO, BigDecimal.ZERO, BigDecimal.ZERO);

  Price {
    if (input.signum() < 0 || output.signum() < 0 || cached.signum() < 0) {
      throw new IllegalArgumentException(
          "The price is negative; use US dollars per" + " million tokens");
    }
  }

  Usage usage(long inputTokens, long cachedTokens, long outputTokens) {
    BigDecimal cost =
        input
            .multiply(BigDecimal.valueOf(inputTokens - cachedTokens))
            .add(cached.multiply(BigDecimal.valueOf(cachedTokens)))
            .add(output.multiply(BigDecimal.valueOf(outputTokens)));
    return new Usage(inputTokens, cachedTokens, outputTokens, cost.movePointLeft(6));
  }
}

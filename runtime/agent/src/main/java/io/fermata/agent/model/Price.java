package io.fermata.agent.model;

import java.math.BigDecimal;

/** US dollars for a million tokens each. */
record Price(BigDecimal input, BigDecimal output, BigDecimal cached) {
  static final Price FREE = new Price(BigDecimal.ZERO, BigDecimal.ZERO, BigDecimal.ZERO);

  Usage usage(TokenCounts tokens) {
    BigDecimal cost =
        input
            .multiply(BigDecimal.valueOf(tokens.input() - tokens.cached()))
            .add(cached.multiply(BigDecimal.valueOf(tokens.cached())))
            .add(output.multiply(BigDecimal.valueOf(tokens.output())));
    return new Usage(tokens.input(), tokens.cached(), tokens.output(), cost.movePointLeft(6));
  }
}

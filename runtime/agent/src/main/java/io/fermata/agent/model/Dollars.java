package io.fermata.agent.model;

import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/** Amounts of money as authors write them. */
public final class Dollars {
  private Dollars() {}

  /**
   * An amount in US dollars, which is not negative.
   *
   * @param what begins the refusal: "The cost of a budget"
   */
  public static BigDecimal read(String what, @Nullable String text) {
    try {
      return checked(what, text == null ? null : new BigDecimal(text.strip()));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "%s is \"%s\", which is no number; write US dollars with digits and a point: \"2.50\""
              .formatted(what, text),
          e);
    }
  }

  static BigDecimal checked(String what, @Nullable BigDecimal amount) {
    if (amount == null || amount.signum() < 0) {
      throw new IllegalArgumentException(
          "%s is %s; give US dollars, \"0\" for what is free"
              .formatted(what, amount == null ? "missing" : "negative: " + amount));
    }
    return amount;
  }
}

package io.fermata.flow.json;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ValueNode;
import java.math.BigDecimal;
import java.util.Locale;

/**
 * Refuses the numbers that {@link Json} could not write and read back: it writes them without an
 * exponent, and reads so many digits.
 */
public final class BoundedNumbers extends JsonNodeFactory {
  public static final int DIGITS = 1_000;

  private static final long serialVersionUID = 1;

  /** A number has more digits than are read. */
  public static final class TooLong extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private TooLong() {
      super(
          String.format(
              Locale.ENGLISH, "A number has more than %,d digits without its exponent", DIGITS));
    }
  }

  @Override
  public ValueNode numberNode(BigDecimal number) {
    return super.numberNode(bounded(number));
  }

  /**
   * The number.
   *
   * @throws TooLong if it has too many digits
   */
  public static BigDecimal bounded(BigDecimal number) {
    long scale = number.scale();
    long fraction = Math.max(scale, 0);
    long whole = Math.max(number.precision() - scale, fraction == 0 ? 0 : 1);
    if (whole + fraction > DIGITS) {
      throw new TooLong();
    }
    return number;
  }
}

package io.fermata.mcp.rpc;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ValueNode;
import java.math.BigDecimal;

/** Rejects numbers whose plain form would be very long. */
final class BoundedNumberNodes extends JsonNodeFactory {
  static final int MAX_SCALE = 1_000;

  @Override
  public ValueNode numberNode(BigDecimal number) {
    if (Math.abs((long) number.scale()) > MAX_SCALE) {
      throw RpcException.parseError("The exponent of a number exceeds " + MAX_SCALE + ".");
    }
    return super.numberNode(number);
  }
}

package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import java.util.function.Consumer;

/**
 * How much of the body of one request has arrived, counted for its principal until all of it has,
 * or never will. Not thread-safe.
 */
public final class ArrivingBody {
  private final PrincipalCounts counts;
  private final String principal;
  private final Consumer<RpcException> refused;
  private int bytes;

  ArrivingBody(PrincipalCounts counts, String principal, Consumer<RpcException> refused) {
    this.counts = counts;
    this.principal = principal;
    this.refused = refused;
  }

  /**
   * Counts another piece.
   *
   * @throws RpcException if too much of the principal's bodies has arrived already
   */
  public void add(int length) {
    if (!counts.tryEnter(principal, length)) {
      RpcException refusal =
          RpcException.tooManyCalls(
              "Bodies of %s bytes are arriving already: wait for one to end."
                  .formatted(counts.max()),
              1);
      refused.accept(refusal);
      throw refusal;
    }
    bytes += length;
  }

  /** It arrives no longer; its bytes count no longer, however often this is called. */
  public void end() {
    counts.leave(principal, bytes);
    bytes = 0;
  }
}

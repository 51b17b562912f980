package io.fermata.mcp.feature;

/**
 * Handles a call. It may block: it runs on a separate thread and is interrupted if the client
 * disconnects or cancels.
 *
 * @param <R> the type of the answer
 */
@FunctionalInterface
public interface McpHandler<R> {
  /**
   * Answers one call.
   *
   * @throws Exception which is logged; the client learns only that the call failed
   */
  R handle(McpCall call) throws Exception;
}

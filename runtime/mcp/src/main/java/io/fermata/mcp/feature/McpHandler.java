package io.fermata.mcp.feature;

/**
 * Handles a call. It may block: it runs on a thread of its own, and is interrupted if the client
 * disconnects or cancels.
 *
 * @param <R> what it answers with
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

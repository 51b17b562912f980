package io.fermata.mcp;

/**
 * What an author writes to answer a call. It may block: it runs on a thread kept for handlers, and
 * is interrupted when the client wants no answer any more.
 *
 * @param <R> what it answers with
 */
@FunctionalInterface
public interface McpHandler<R> {
  /**
   * Answers one call.
   *
   * @throws Exception which is logged; the client is only told that the call failed
   */
  R handle(McpCall call) throws Exception;
}

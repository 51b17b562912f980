package io.fermata.agent;

import io.fermata.agent.message.ToolResult;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Implements a tool. It runs on its own thread and may block; it is interrupted when it times out
 * or its thread is stopped.
 *
 * @param <A> the arguments: a record, or an {@code ObjectNode} where the schema is given as JSON
 */
@FunctionalInterface
public interface ToolHandler<A> {
  /**
   * Handles one call.
   *
   * @param flow the thread's state; its changes are journaled with the result, or not at all
   * @return a {@link ToolResult}, what {@link ToolResult#success} takes, or a {@link
   *     CompletionStage} of either: the call ends when it completes, and fails when it fails
   * @throws Exception if the call fails; the model reads its message
   */
  @Nullable Object run(FlowState flow, A args) throws Exception;
}

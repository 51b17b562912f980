package io.fermata.agent;

import io.fermata.agent.message.Message;

/**
 * Code that takes the turn of a side. It speaks with {@link FlowState#injectMessage}; a turn
 * without a message lets the thread rest.
 */
@FunctionalInterface
public interface TurnHandler {
  /**
   * Handles a message. A stage that it begins is not waited for.
   *
   * @param message the message to this side that is to be answered
   */
  void handle(FlowState flow, Message message) throws Exception;
}

package io.fermata.agent;

/**
 * Code that takes the turn of a side. It says what it has to say with {@link
 * FlowState#injectMessage}; a turn in which it says nothing lets the thread rest.
 */
@FunctionalInterface
public interface TurnHandler {
  /**
   * Answers a message.
   *
   * @param message the message to this side that is to be answered
   */
  void handle(FlowState flow, Message message) throws Exception;
}

package io.fermata.agent.model;

/**
 * Receives a streaming reply, on the calling thread. An exception ends the call.
 *
 * <p>A model that does not stream delivers its text in one piece.
 */
public interface ModelListener {
  /** No listener; a model that can do both then does not stream. */
  ModelListener NONE = new ModelListener() {};

  /** The next piece of the text. */
  default void text(String delta) {}

  /** The next piece of the model's thinking. */
  default void thinking(String delta) {}

  /**
   * An attempt failed. All text and thinking so far is invalid: the next attempt, if there is one,
   * starts over.
   */
  default void attempt(ModelAttempt failed) {}
}

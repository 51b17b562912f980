package io.fermata.agent.model;

/**
 * Receives a reply while it streams, on the calling thread. What it throws ends the call.
 *
 * <p>A model that does not stream delivers its text in one piece.
 */
public interface ModelListener {
  /** No listener; a model that can do both then does not stream. */
  ModelListener NONE = new ModelListener() {};

  /** The next piece of the text. */
  default void text(String delta) {}

  /** The next piece of what the model thinks before it speaks. */
  default void thinking(String delta) {}

  /**
   * An attempt failed. All text and thinking so far is invalid: the next attempt, if there is one,
   * starts over.
   */
  default void attempt(ModelAttempt failed) {}
}

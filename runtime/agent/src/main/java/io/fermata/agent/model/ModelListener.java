package io.fermata.agent.model;

/**
 * Hears a reply while it comes, on the thread that asked. What it throws ends the call.
 *
 * <p>A model that does not stream tells its text in one piece.
 */
public interface ModelListener {
  /** Nobody listens; a model that can do both then does not stream. */
  ModelListener NONE = new ModelListener() {};

  /** The next piece of the text. */
  default void text(String delta) {}

  /** The next piece of what the model thinks before it speaks. */
  default void thinking(String delta) {}

  /**
   * An attempt came to nothing. All text and thinking heard so far is void: the next attempt, if
   * there is one, begins from the start.
   */
  default void attempt(ModelAttempt failed) {}
}

package io.fermata.agent.model;

/**
 * A failed attempt.
 *
 * @param model the name of the model that was asked
 * @param number which attempt at this model it was, from 1
 * @param message for people; it carries neither a key nor a stack trace
 */
public record ModelAttempt(String model, int number, ModelError code, String message) {
  @Override
  public String toString() {
    return model + ", attempt " + number + ": " + code.wireName() + ": " + message;
  }
}

package io.fermata.agent.model;

/**
 * A failed attempt.
 *
 * @param model the name of the called model
 * @param number the number of the attempt with this model, from 1
 * @param message for people; without keys and stack traces
 */
public record ModelAttempt(String model, int number, ModelError code, String message) {
  @Override
  public String toString() {
    return model + ", attempt " + number + ": " + code.wireName() + ": " + message;
  }
}

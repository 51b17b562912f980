package io.fermata.flow.engine;

import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Texts;

/** What the client reads of a failure in an author's code. */
final class StepFailures {
  private static final int LONGEST_MESSAGE = 2_000;

  private StepFailures() {}

  /**
   * The cause. Only the message of a {@link StepException} is meant for the client.
   *
   * @param subject the step, or the field whose answer was checked
   */
  static String message(String subject, ErrorCode code, Throwable cause) {
    if (cause instanceof StepException meant && meant.getMessage() != null) {
      return Texts.shortened(meant.getMessage(), LONGEST_MESSAGE);
    }
    return code.cause() + ": " + subject + ".";
  }
}

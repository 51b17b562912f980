package io.fermata.flow.engine;

import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Texts;
import org.jspecify.annotations.Nullable;

/** What the client reads of a failure in an author's code. */
final class StepFailures {
  private static final int LONGEST_MESSAGE = 2_000;

  private StepFailures() {}

  /**
   * The cause. Only the message of a {@link StepException} is meant for the client.
   *
   * @param field the field whose answer was checked; null if the step itself failed
   */
  static String message(Place place, @Nullable String field, ErrorCode code, Throwable cause) {
    String meant = meant(cause);
    if (meant != null) {
      return Texts.shortened(meant, LONGEST_MESSAGE);
    }
    String subject = field == null ? named(place.undone().node()) : field;
    return code.cause() + (subject.isEmpty() ? "." : ": " + subject + ".");
  }

  /** What an author meant for the client; null if there is nothing. */
  static @Nullable String meant(Throwable cause) {
    String message = cause instanceof StepException ? cause.getMessage() : null;
    return message == null || message.isBlank() ? null : message;
  }

  /** The step, or the sub-flow whose end it is; nothing at the end of the run. */
  private static String named(String node) {
    if (node.equals(Place.END)) {
      return "";
    }
    return node.endsWith("/" + Place.END)
        ? node.substring(0, node.length() - Place.END.length() - 1)
        : node;
  }
}

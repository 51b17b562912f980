package io.fermata.session.call;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How the run behind a task stands.
 *
 * @param reply what a call would be told; what a call was told that the run ended with
 * @param asked a name for each question that is open, by its field, which no other question of the
 *     run has had or will have: not even the same one, put again after an answer was refused
 * @param changedAt when the run changed last
 * @param keptUntil until when an end is known; null while the run goes on
 */
public record TaskView(
    Standing standing,
    ToolReply reply,
    Map<String, String> asked,
    Instant changedAt,
    @Nullable Instant keptUntil) {

  /** The standings of a run. */
  public enum Standing {
    /** It works, or waits for a time or a signal. */
    WORKING,
    /** It stands still until somebody answers or decides something. */
    STANDING,
    /** It has ended by itself, well or not; the reply says how. */
    ENDED,
    /** It was cancelled. */
    CANCELLED,
    /** It waited for too long. */
    EXPIRED,
    /** There is no such run, or nothing is known of it any more. */
    UNKNOWN,
    /** It could not be looked at; the reply says why. */
    UNREACHABLE
  }

  public TaskView {
    asked = Map.copyOf(asked);
  }
}

package io.fermata.session.call;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The state of a task's run.
 *
 * @param reply the reply that a call would get; for an ended run, its last reply
 * @param asked a unique id of each open question, by field; a question that is asked again has
 *     another id
 * @param changedAt when the run last changed
 * @param keptUntil until when the end is kept; null while the run is unfinished
 */
public record TaskView(
    Status status,
    ToolReply reply,
    Map<String, String> asked,
    Instant changedAt,
    @Nullable Instant keptUntil) {

  /** The status of a task. */
  public enum Status {
    /** It works, or waits for a time or a signal. */
    WORKING,
    /** It waits for an answer or a decision. */
    INPUT_REQUIRED,
    /** It has completed or failed, as the reply says. */
    ENDED,
    /** It was cancelled. */
    CANCELLED,
    /** It expired. */
    EXPIRED,
    /** There is no such run, or its end is no longer kept. */
    UNKNOWN,
    /** Its state could not be read, as the reply says. */
    UNREACHABLE
  }

  public TaskView {
    asked = Map.copyOf(asked);
  }
}

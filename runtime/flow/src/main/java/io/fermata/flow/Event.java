package io.fermata.flow;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What happened in a run. A run's state is the fold of its events and nothing else, and an event
 * carries all that the fold needs, so a journal can be replayed without the flow's code.
 *
 * <p>Times are milliseconds of the epoch. Names are part of the journal's format: they never
 * change.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "e")
@JsonSubTypes({
  @JsonSubTypes.Type(value = Event.Started.class, name = "started"),
  @JsonSubTypes.Type(value = Event.Answered.class, name = "answered"),
  @JsonSubTypes.Type(value = Event.Accepted.class, name = "accepted"),
  @JsonSubTypes.Type(value = Event.Rejected.class, name = "rejected"),
  @JsonSubTypes.Type(value = Event.Asked.class, name = "asked"),
  @JsonSubTypes.Type(value = Event.Shown.class, name = "shown"),
  @JsonSubTypes.Type(value = Event.Attempted.class, name = "attempted"),
  @JsonSubTypes.Type(value = Event.AttemptFailed.class, name = "attempt_failed"),
  @JsonSubTypes.Type(value = Event.Committed.class, name = "committed"),
  @JsonSubTypes.Type(value = Event.Decided.class, name = "decided"),
  @JsonSubTypes.Type(value = Event.Moved.class, name = "moved"),
  @JsonSubTypes.Type(value = Event.Stopped.class, name = "stopped"),
  @JsonSubTypes.Type(value = Event.Retried.class, name = "retried"),
  @JsonSubTypes.Type(value = Event.Skipped.class, name = "skipped"),
  @JsonSubTypes.Type(value = Event.Reset.class, name = "reset"),
  @JsonSubTypes.Type(value = Event.Completed.class, name = "completed"),
  @JsonSubTypes.Type(value = Event.Cancelled.class, name = "cancelled"),
  @JsonSubTypes.Type(value = Event.Abandoned.class, name = "abandoned")
})
public sealed interface Event {

  /** A run began, on this version of the flow. */
  record Started(String runId, int version, String fingerprint, String intent, long at)
      implements Event {}

  /** A client gave values, by field path: answers to open questions, or values known early. */
  record Answered(Map<String, JsonNode> values, long at) implements Event {}

  /** An answer stands, perhaps normalised, perhaps with further fields that follow from it. */
  record Accepted(Place place, String field, @Nullable JsonNode value, Map<String, JsonNode> sets)
      implements Event {}

  /** An answer was refused; its question is open again. */
  record Rejected(Place place, String field, String message) implements Event {}

  /** Questions were put, in the words that a recovered run will repeat. */
  record Asked(Place place, List<Question> questions, @Nullable String context, long at)
      implements Event {}

  /** A widget was put. */
  record Shown(Place place, Widget widget, long at) implements Event {}

  /** An effect begins. A field is named when the effect checks an answer to it. */
  record Attempted(Place place, @Nullable String field, int attempt, long at) implements Event {}

  /** An attempt failed and another will follow. */
  record AttemptFailed(
      Place place, int attempt, ErrorCode code, String message, String detail, long retryAt)
      implements Event {}

  /** An action's writes, all of them. */
  record Committed(Place place, List<Write> writes) implements Event {}

  /**
   * Rules were tried.
   *
   * @param tried the rules, in order; those after the one that decided were not
   * @param targets which way the run goes; empty if the last rule failed, so that none was chosen
   */
  record Decided(Place place, List<Tried> tried, List<String> targets) implements Event {}

  /**
   * A rule that was tried.
   *
   * @param seen what it looked at, in order
   */
  record Tried(String rule, boolean matched, List<Seen> seen) {}

  /**
   * A look at the state: by a condition, which compares, or by a function, of which only what it
   * read is known. Containers and long texts are kept as short texts.
   *
   * @param what a field's path, or {@code visits of} a node
   * @param is the value that was there; null if there was none
   * @param op the operator, {@code gt}, and the other field if it compares two: {@code gt limit}
   * @param than what it was compared with; the other field's value if it compares two
   * @param held whether the comparison held
   */
  record Seen(
      String what,
      @Nullable JsonNode is,
      @Nullable String op,
      @Nullable JsonNode than,
      @Nullable Boolean held) {}

  /**
   * The run went on from one place to the next.
   *
   * @param asks the next node asks a person, so a correction may come back to it
   */
  record Moved(Place from, Place to, boolean asks, long at) implements Event {}

  /** A place cannot go on by itself. */
  record Stopped(Place place, Resume resume, ErrorCode code, String message, String detail)
      implements Event {}

  /** Where a stopped place takes up again. */
  enum Resume {
    ENTERING,
    WORKING,
    LEAVING
  }

  /** A stopped place is tried again. */
  record Retried(Place place) implements Event {}

  /** Somebody decided that a step whose outcome is unknown needs no further attempt. */
  record Skipped(Place place) implements Event {}

  /** Earlier answers were corrected: the run goes back to a node and keeps the other answers. */
  record Reset(Place from, Place to, Map<String, JsonNode> corrected, long at) implements Event {}

  record Completed(@Nullable JsonNode result, long at) implements Event {}

  record Cancelled(long at) implements Event {}

  /** Another run was started in the same session before this one ended. */
  record Abandoned(long at) implements Event {}

  /** A question as it was put. */
  record Question(
      String field,
      String question,
      @Nullable JsonNode schema,
      List<String> suggestions,
      @Nullable String context) {}

  /** A widget as it was put. */
  record Widget(
      String tool,
      @Nullable JsonNode data,
      boolean interactive,
      @Nullable String field,
      @Nullable JsonNode schema) {}
}

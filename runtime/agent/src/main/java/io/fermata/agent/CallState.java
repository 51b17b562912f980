package io.fermata.agent;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * A call that a thread has under way, or that waits for its turn.
 *
 * @param key what tells it from every other call of the thread
 * @param queued asked for by an author's code, not by a model
 * @param retryAt when the next attempt is due; null if none waits
 * @param question what a person is asked about it; null if nobody is
 * @param answer what the person said
 * @param begun hooks have seen it begin, and what they did is journaled
 * @param child the thread that works for it; null if none does
 * @param result what came back, before hooks have seen it
 * @param message what it came to, until the calls before it are over, too
 * @param struck a hook struck it out
 */
public record CallState(
    String key,
    ToolCall call,
    Phase phase,
    int attempt,
    boolean queued,
    @Nullable Long retryAt,
    @Nullable JsonNode question,
    @Nullable Answer answer,
    boolean begun,
    @Nullable String child,
    @Nullable ToolResult result,
    @Nullable Message message,
    boolean struck) {

  /** How far a call is. */
  public enum Phase {
    /** It waits for those before it. */
    @JsonProperty("waiting")
    WAITING,
    @JsonProperty("running")
    RUNNING,
    /** It failed and is made again when its time comes. */
    @JsonProperty("retrying")
    RETRYING,
    /** A person has to approve it. */
    @JsonProperty("approving")
    APPROVING,
    /** The flow behind it asks a person. */
    @JsonProperty("asking")
    ASKING,
    /** A sub-prompt or a child works for it. */
    @JsonProperty("delegated")
    DELEGATED,
    /** It came back; hooks have yet to see the result. */
    @JsonProperty("returned")
    RETURNED,
    @JsonProperty("over")
    OVER
  }

  /** What a person said about a call. */
  public record Answer(
      String id,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason,
      @Nullable String by) {}

  static CallState of(String key, ToolCall call, boolean queued) {
    return new CallState(
        key, call, Phase.WAITING, 0, queued, null, null, null, false, null, null, null, false);
  }

  boolean over() {
    return phase == Phase.OVER;
  }

  /** Whether a person can say something about it now. */
  public boolean open() {
    return phase == Phase.APPROVING || phase == Phase.ASKING;
  }

  boolean approved() {
    return answer != null && Boolean.TRUE.equals(answer.approved());
  }

  CallState running(int newAttempt) {
    return new CallState(
        key,
        call,
        Phase.RUNNING,
        newAttempt,
        queued,
        null,
        question,
        answer,
        begun,
        child,
        null,
        null,
        false);
  }

  CallState retrying(long due) {
    return new CallState(
        key,
        call,
        Phase.RETRYING,
        attempt,
        queued,
        due,
        question,
        answer,
        begun,
        child,
        null,
        null,
        false);
  }

  /** The flow behind it goes on by itself. */
  CallState waiting(long until) {
    return new CallState(
        key,
        call,
        Phase.RETRYING,
        attempt,
        queued,
        until,
        question,
        answer,
        true,
        child,
        null,
        null,
        false);
  }

  CallState asked(boolean approval, JsonNode what) {
    Phase next = approval ? Phase.APPROVING : Phase.ASKING;
    return new CallState(
        key,
        call,
        next,
        attempt,
        queued,
        null,
        what,
        answer,
        begun || !approval,
        child,
        null,
        null,
        false);
  }

  CallState answered(Answer given) {
    return new CallState(
        key,
        call,
        Phase.WAITING,
        attempt,
        queued,
        null,
        question,
        given,
        begun,
        child,
        null,
        null,
        false);
  }

  CallState delegated(@Nullable String threadId) {
    return new CallState(
        key,
        call,
        Phase.DELEGATED,
        attempt,
        queued,
        null,
        question,
        answer,
        true,
        threadId,
        null,
        null,
        false);
  }

  CallState returned(ToolResult what) {
    return new CallState(
        key,
        call,
        Phase.RETURNED,
        attempt,
        queued,
        null,
        question,
        answer,
        begun,
        child,
        what,
        null,
        false);
  }

  CallState ended(@Nullable Message told) {
    return new CallState(
        key,
        call,
        Phase.OVER,
        attempt,
        queued,
        null,
        null,
        null,
        begun,
        child,
        null,
        told,
        told == null);
  }
}

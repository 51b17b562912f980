package io.fermata.agent.state;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call in progress, or a queued one.
 *
 * @param retryAt when the next attempt is due; null if none is
 * @param question the open question about it, or what its flow waits for; null for none
 * @param answer the answer to it
 * @param onset what is journaled of its start
 * @param child the child thread that works for it; null for none
 * @param result its result, before the hooks
 * @param message its result message; null before its end, or if a hook removed it
 */
public record CallState(
    Request request,
    Phase phase,
    int attempt,
    @Nullable Long retryAt,
    @Nullable JsonNode question,
    @Nullable Answer answer,
    Onset onset,
    @Nullable String child,
    @Nullable ToolResult result,
    @Nullable Message message) {

  /** The code of a call that a person did not approve. */
  public static final String DENIED = "denied";

  /** The code of a call that a message prevented, as the one before it still waited. */
  public static final String NOT_MADE = "not_made";

  /** The code of a call that the end of its thread's work prevented or ended. */
  public static final String STOPPED = "stopped";

  private static final Set<String> PREVENTED = Set.of(DENIED, NOT_MADE, STOPPED);

  /** The member with what a flow waits for, or the words of a widget, which has more members. */
  private static final String WAITS_FOR = "description";

  /**
   * The requested call.
   *
   * @param key distinguishes it from every other call of the thread
   * @param queued requested by author code, not by a model
   * @param cutOff whether the output limit of the model cut it off
   */
  public record Request(String key, RequestedCall call, boolean queued, boolean cutOff) {}

  /** The phase of a call. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Phase {
    /** It waits for earlier calls. */
    WAITING,
    RUNNING,
    /** It failed and will be retried. */
    RETRYING,
    /** The flow behind it waits for a moment, a signal or another person, and is polled. */
    PAUSED,
    /** A person must approve it. */
    APPROVING,
    /** The flow behind it asks a person. */
    ASKING,
    /** A sub-prompt or a child works for it. */
    DELEGATED,
    /** It returned; the hooks for its result have not run yet. */
    RETURNED,
    /** Its step has ended; it waits while the conversation continues. */
    DETACHED,
    OVER
  }

  /** What is journaled of the start of a call. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Onset {
    NONE,
    /** The hooks for its start have run. */
    ANNOUNCED,
    /** The flow behind it was seen at work or waiting, so that it has begun. */
    SEEN
  }

  /**
   * A person's answer about a call.
   *
   * @param question what was approved, in the words of the question; null if nothing was
   */
  public record Answer(
      String id,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason,
      @Nullable String by,
      @Nullable String question) {

    private Answer approving(@Nullable String asked) {
      return new Answer(id, approved, answers, reason, by, asked);
    }

    /** An answer to what its flow asks, which leaves the approval as it is. */
    private Answer then(Answer given) {
      return new Answer(given.id, approved, given.answers, given.reason, given.by, question);
    }

    private Answer approvalAlone() {
      return new Answer(id, approved, null, reason, by, question);
    }
  }

  static CallState of(Request request) {
    return new CallState(request, Phase.WAITING, 0, null, null, null, Onset.NONE, null, null, null);
  }

  public String key() {
    return request.key();
  }

  public RequestedCall call() {
    return request.call();
  }

  public boolean queued() {
    return request.queued();
  }

  public boolean cutOff() {
    return request.cutOff();
  }

  public boolean over() {
    return phase == Phase.OVER || phase == Phase.DETACHED;
  }

  /** Whether the hooks for its start have run and are journaled. */
  public boolean begun() {
    return onset != Onset.NONE;
  }

  /** Whether the flow behind it has begun; if not, it may have begun all the same. */
  public boolean flowSeen() {
    return onset == Onset.SEEN;
  }

  /** Whether an attempt has started, as opposed to a call that was refused. */
  public boolean started() {
    return begun() || attempt > 0;
  }

  /** Whether an attempt is made, or will be repeated without a person. */
  public boolean performed() {
    return phase == Phase.RUNNING || phase == Phase.RETRYING;
  }

  /** Whether others than its model keep it from being tried, if it ends with a code. */
  boolean prevented(@Nullable String code) {
    return attempt == 0 && code != null && PREVENTED.contains(code);
  }

  /** Whether its next attempt is due at a time. */
  public boolean scheduled() {
    return phase == Phase.RETRYING || phase == Phase.PAUSED;
  }

  /** Whether it is an attempt that looks whether its flow still waits. */
  boolean looks() {
    return phase == Phase.RUNNING
        && question != null
        && question.size() == 1
        && question.has(WAITS_FOR);
  }

  /** Whether the flow behind it waits, be it for a person here. */
  public boolean waitsForFlow() {
    return phase == Phase.PAUSED || phase == Phase.ASKING;
  }

  /** Whether its tool, or a flow behind it, waits or may be at work. */
  public boolean underWay() {
    return performed() || waitsForFlow() || (phase == Phase.WAITING && attempt > 0);
  }

  /**
   * Whether people decide it or have approved it, or it is under way: it is not refused any more.
   */
  public boolean admitted() {
    return open() || underWay() || (phase == Phase.WAITING && approved());
  }

  /** Whether it waits for a person. */
  public boolean open() {
    return phase == Phase.APPROVING || phase == Phase.ASKING;
  }

  /** The child that works for it now; null for none. */
  @Nullable String childAtWork() {
    return phase == Phase.DELEGATED ? child : null;
  }

  /** Whether views show what it asks or waits for, if only in a child. */
  boolean shown() {
    return open() || phase == Phase.PAUSED || childAtWork() != null;
  }

  /**
   * Names its open question. Each attempt asks at most one, so that a call which asks again, even
   * for the same, has another one open.
   */
  public String questionId() {
    return key() + ":" + attempt;
  }

  public boolean approved() {
    return answer != null && Boolean.TRUE.equals(answer.approved());
  }

  /** What is asked or waited for, without what only clients of a flow can use. */
  public static String words(JsonNode question) {
    List<String> words = new ArrayList<>();
    words.add(question.path("question").asText());
    question.path("questions").forEach(each -> words.add(each.path("question").asText()));
    words.add(question.path(WAITS_FOR).asText());
    words.removeIf(String::isBlank);
    return String.join(" ", words);
  }

  /** The question whose approval was given, or is asked for; null for none. */
  public @Nullable String approval() {
    if (phase == Phase.APPROVING) {
      return question == null ? null : question.path("question").textValue();
    }
    return answer != null && approved() ? answer.question() : null;
  }

  CallState running(int newAttempt) {
    return entering(Phase.RUNNING, draft -> draft.attempt = newAttempt);
  }

  CallState retrying(long due) {
    return entering(Phase.RETRYING, draft -> draft.retryAt = due);
  }

  /** The flow behind it continues by itself. */
  CallState waiting(long until, @Nullable String what, boolean seen) {
    return entering(
        what == null ? Phase.RETRYING : Phase.PAUSED,
        draft -> {
          draft.retryAt = until;
          draft.began(seen);
          draft.question = what == null ? null : Json.object().put(WAITS_FOR, what);
        });
  }

  CallState asked(boolean approval, JsonNode what) {
    return entering(
        approval ? Phase.APPROVING : Phase.ASKING,
        draft -> {
          draft.question = what;
          draft.answer = approval ? null : answer;
          if (!approval) {
            draft.began(true);
          }
        });
  }

  CallState answered(Answer given) {
    return entering(
        Phase.WAITING,
        draft ->
            draft.answer =
                phase == Phase.APPROVING
                    ? given.approving(approval())
                    : answer != null && approved() ? answer.then(given) : given);
  }

  CallState delegated(@Nullable String threadId) {
    return entering(
        Phase.DELEGATED,
        draft -> {
          draft.began(false);
          draft.child = threadId;
        });
  }

  CallState returned(ToolResult what) {
    return entering(Phase.RETURNED, draft -> draft.result = what);
  }

  /** What its step keeps of it: a preliminary result. */
  CallState detached(Message interim) {
    return entering(Phase.DETACHED, draft -> draft.message = interim);
  }

  /**
   * As it is in a fork of its thread: the source's flow, child and person work for the source, so
   * that a call that was under way begins again, with its first attempt. An approval that was given
   * or asked for stays.
   *
   * @param sandbox whether nobody is asked
   */
  CallState renewed(boolean sandbox) {
    boolean renews =
        switch (phase) {
          case RUNNING, RETRYING, PAUSED, ASKING -> true;
          case APPROVING -> sandbox;
          case DELEGATED -> child != null;
          case WAITING -> started();
          case RETURNED, DETACHED, OVER -> false;
        };
    return !renews
        ? this
        : entering(
            Phase.WAITING,
            draft -> {
              draft.attempt = 0;
              draft.onset = begun() ? Onset.ANNOUNCED : Onset.NONE;
              draft.question = null;
              draft.child = null;
              draft.answer = answer != null && approved() ? answer.approvalAlone() : null;
            });
  }

  CallState ended(@Nullable Message result) {
    return entering(
        Phase.OVER,
        draft -> {
          draft.question = null;
          draft.answer = null;
          draft.message = result;
        });
  }

  private CallState entering(Phase next, Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.entering(next);
  }

  /** Builds the next phase; data of the previous phase is cleared. */
  private static final class Draft {
    private final CallState before;
    private int attempt;
    private @Nullable Long retryAt;
    private @Nullable JsonNode question;
    private @Nullable Answer answer;
    private Onset onset;
    private @Nullable String child;
    private @Nullable ToolResult result;
    private @Nullable Message message;

    Draft(CallState before) {
      this.before = before;
      attempt = before.attempt;
      question = before.question;
      answer = before.answer;
      onset = before.onset;
      child = before.child;
    }

    void began(boolean seen) {
      onset = seen || onset == Onset.SEEN ? Onset.SEEN : Onset.ANNOUNCED;
    }

    CallState entering(Phase phase) {
      return new CallState(
          before.request, phase, attempt, retryAt, question, answer, onset, child, result, message);
    }
  }
}

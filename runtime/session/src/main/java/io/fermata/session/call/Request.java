package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The request of a call to its session. */
public sealed interface Request {

  /** The name in logs. */
  String name();

  /** Whether it is handled while other work of the session continues, and replied to at once. */
  default boolean immediate() {
    return false;
  }

  /** Whether it only fetches the outcome of the current work. */
  default boolean asksAgain() {
    return false;
  }

  /** Whether it begins a run or a thread, for which nobody has done anything yet. */
  default boolean begins() {
    return false;
  }

  /** Whether it changes nothing, so that any number of callers can wait for the reply together. */
  default boolean readsOnly() {
    return false;
  }

  /**
   * A call of a flow's tool.
   *
   * @param resolution a decision about a step whose outcome is unknown
   * @param only the precondition on the state of the run; null for none
   * @param fork how a forked run begins; null for other calls
   * @param refusal why the call cannot be made, which its run replies with what it asks; null for
   *     one that can
   */
  record OfRun(
      CallAction action,
      String intent,
      ObjectNode updates,
      Input.@Nullable Resolution resolution,
      @Nullable Signal signal,
      @Nullable Only only,
      @Nullable Fork fork,
      Outcome.@Nullable Failure refusal)
      implements Request {

    public static OfRun of(CallAction action, ObjectNode updates, @Nullable Only only) {
      return new OfRun(action, "", updates, null, null, only, null, null);
    }

    public static OfRun resolve(Input.Resolution resolution, Only only) {
      return new OfRun(CallAction.CONTINUE, "", Json.object(), resolution, null, only, null, null);
    }

    public static OfRun signal(Signal signal) {
      return new OfRun(CallAction.SIGNAL, "", Json.object(), null, signal, null, null, null);
    }

    public static OfRun fork(Fork fork, ObjectNode answers) {
      return new OfRun(CallAction.FORK, "", answers, null, null, null, fork, null);
    }

    /** A call that changes nothing because it cannot be read. */
    public static OfRun refused(Outcome.Failure why) {
      return new OfRun(CallAction.STATUS, "", Json.object(), null, null, null, null, why);
    }

    /** The run that it is for; null for the current one. */
    public @Nullable String runId() {
      return only == null ? null : only.runId();
    }

    @Override
    public String name() {
      return action.toString();
    }

    @Override
    public boolean begins() {
      return action == CallAction.START || action == CallAction.FORK;
    }

    @Override
    public boolean immediate() {
      return action == CallAction.SIGNAL || action == CallAction.POSTPONE;
    }

    @Override
    public boolean asksAgain() {
      return action == CallAction.CONTINUE && updates.isEmpty() && resolution == null;
    }
  }

  /**
   * How a forked run begins.
   *
   * @param events what happened in its source, and where it comes from
   * @param version the version of its flow that it continues on, as {@code ForkOptions} has it
   */
  record Fork(List<Event> events, @Nullable Integer version) {}

  /** A signal from outside, for a run that may wait for it. */
  record Signal(String runId, String name, @Nullable JsonNode payload) {}

  /**
   * The precondition of a call.
   *
   * @param runId the run; null for any
   * @param seq the number of the journal's last entry; null for any
   * @param asked the questions that its answers are for; null for any
   */
  record Only(@Nullable String runId, @Nullable Long seq, @Nullable QuestionIds asked) {}

  /** An input for a thread. */
  record OfThread(ThreadInput input) implements Request {
    @Override
    public String name() {
      return input.getClass().getSimpleName();
    }

    @Override
    public boolean begins() {
      return input instanceof ThreadInput.Create;
    }

    @Override
    public boolean immediate() {
      return true;
    }
  }

  /**
   * Begins a thread that was forked.
   *
   * @param source what happened in the other thread, under the id of this one
   * @param encrypted whether the other thread is encrypted, or may be
   */
  record ForkThread(ThreadJournal source, ThreadInput.Fork input, boolean encrypted)
      implements Request {
    @Override
    public String name() {
      return "fork";
    }

    @Override
    public boolean begins() {
      return true;
    }

    @Override
    public boolean immediate() {
      return true;
    }
  }

  /**
   * The state of a thread.
   *
   * @param settled whether to wait until the thread rests or asks
   */
  record View(boolean settled) implements Request {
    @Override
    public String name() {
      return "view";
    }

    @Override
    public boolean asksAgain() {
      return true;
    }

    @Override
    public boolean readsOnly() {
      return true;
    }
  }
}

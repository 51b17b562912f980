package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Input;
import io.fermata.flow.StepEffect;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** What a session actor is told. */
sealed interface SessionCommand {

  /**
   * A call of the flow's tool.
   *
   * @param id the gateway's number of the call
   * @param key who talks; null for a signal, which belongs to a run whoever sends it
   */
  record Call(
      long id,
      @Nullable SessionKey key,
      Action action,
      String intent,
      ObjectNode updates,
      @Nullable String callId,
      @Nullable Long expectedSeq,
      Input.@Nullable Resolution resolution,
      @Nullable Signal signal,
      ActorRef<ToCaller> replyTo)
      implements SessionCommand {

    /** Whether the call only wants to know how things stand. */
    boolean asksAgain() {
      return action == Action.CONTINUE && updates.isEmpty() && resolution == null;
    }
  }

  /** Something that happened outside, for a run that may wait for it. */
  record Signal(String runId, String name, @Nullable JsonNode payload) {}

  /** What a session has to say about a call. */
  sealed interface ToCaller extends GatewayCommand {}

  /** The answer to a call. */
  record SessionReply(long id, JournalRecord.Reply reply) implements ToCaller {}

  /** What a node tells while a call is under way. */
  record SessionProgress(long id, ToolProgress progress) implements ToCaller {}

  /** A node tells something while it works. */
  record Told(StepEffect effect, ToolProgress progress) implements SessionCommand {}

  /** An effect's handler has begun, on a thread of its own. */
  record EffectBegun(StepEffect effect) implements SessionCommand {}

  /** An effect has ended. */
  record EffectEnded(StepEffect effect, Input.Result result) implements SessionCommand {}

  /** An effect took too long. */
  record EffectOverdue(StepEffect effect) implements SessionCommand {}

  /**
   * The wait for an effect is over.
   *
   * @param arrived whether its time has come; a timer cannot reach as far ahead as a run can wait
   */
  record EffectDue(StepEffect effect, boolean arrived) implements SessionCommand {}

  /** A caller stops waiting. */
  record DeadlinePassed(long id) implements SessionCommand {}

  /** The next waiting call is due. */
  record Next() implements SessionCommand {}

  /** Take up the effects that were under way when the journal ended. */
  record Resume() implements SessionCommand {}

  /** Be awake, so that unfinished work goes on. */
  record Wake() implements SessionCommand {}

  /** Nobody has called for a while, or memory is wanted for others. */
  record Idle() implements SessionCommand {}

  /**
   * Stop, if nothing is under way.
   *
   * @param whenDone stop as soon as nothing is under way, instead of staying awake
   */
  record Sleep(boolean whenDone) implements SessionCommand {}
}

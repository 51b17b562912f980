package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Input;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** What the session actor of a flow's run is told of its callers. */
sealed interface RunCommand extends SessionCommand {

  /**
   * A call of the flow's tool.
   *
   * @param id the gateway's number of the call
   * @param key who talks; null for what belongs to a run whoever sends it
   * @param fresh whether the session was made up for this call, so that it has no journal
   * @param runId the only run that it is for; null for the one that the session has
   * @param asked the only questions that its answers are for; null for whatever is asked
   * @param trace what the call is part of
   */
  record Call(
      long id,
      @Nullable SessionKey key,
      boolean fresh,
      Action action,
      String intent,
      ObjectNode updates,
      @Nullable String callId,
      @Nullable Long expectedSeq,
      Input.@Nullable Resolution resolution,
      @Nullable Signal signal,
      @Nullable String runId,
      @Nullable Asked asked,
      Manner manner,
      TraceContext trace,
      ActorRef<ToCaller> replyTo)
      implements RunCommand {

    /** Whether the call only wants to know how things stand. */
    boolean asksAgain() {
      return action == Action.CONTINUE && updates.isEmpty() && resolution == null;
    }

    /** What a log may say of it: what the client says in it is nobody's business there. */
    @Override
    public String toString() {
      return "call " + id + " to " + action;
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

  /** A node tells something while its effect works. */
  record Told(String effect, ToolProgress progress) implements RunCommand {}

  /** A caller stops waiting. */
  record DeadlinePassed(long id) implements RunCommand {}

  /** The next waiting call is due. */
  record Next() implements RunCommand {}
}

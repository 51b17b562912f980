package io.fermata.session.actor;

import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.TraceContext;
import org.jspecify.annotations.Nullable;

/** What a session actor receives: calls, results of its effects, and requests of the region. */
public sealed interface SessionCommand {

  /**
   * A call of the session.
   *
   * @param id the gateway's number of the call
   * @param origin who calls
   * @param callId the caller's name for the call, which makes it idempotent; null for none
   * @param fresh whether the session was created for this call, so that it has no journal
   * @param replyTo where the reply goes
   */
  record Call(
      long id,
      Entry.Origin origin,
      @Nullable String callId,
      boolean fresh,
      Request request,
      ReplyMode mode,
      TraceContext trace,
      ReplyTo replyTo)
      implements SessionCommand {

    void reply(SessionReply reply) {
      replyTo.reply(id, reply);
    }

    void reached() {
      replyTo.reached(id);
    }

    /** The same call under another number. */
    Call as(long other, ReplyTo otherReplyTo) {
      return new Call(other, origin, callId, fresh, request, mode, trace, otherReplyTo);
    }

    /** For logs, without anything that the caller sent. */
    @Override
    public String toString() {
      return "call " + id + " to " + request.name();
    }
  }

  /** Where the replies to calls go. Its methods return at once, on any thread. */
  interface ReplyTo {
    void reply(long id, SessionReply reply);

    void progress(long id, ToolProgress progress);

    /** The call has reached its session, where it may wait for earlier ones. */
    default void reached(long id) {}
  }

  /** A caller stops waiting. */
  record DeadlinePassed(long id) implements SessionCommand {}

  /** The next waiting call is due. */
  record Next() implements SessionCommand {}

  /** A reply has left that had to be confirmed first. */
  record Replied() implements SessionCommand {}

  /** An effect has published something, which can be fetched. */
  record Progressed(String key) implements SessionCommand {}

  /** An effect's handler has started, on its own thread. */
  record EffectStarted(String key) implements SessionCommand {}

  /** An effect has ended, and its result can be fetched. */
  record EffectEnded(String key) implements SessionCommand {}

  /** An effect did not complete within its timeout. */
  record EffectTimedOut(String key) implements SessionCommand {}

  /**
   * A timer has fired.
   *
   * @param arrived whether it is due; a program can wait longer than one timer can be set
   */
  record TimerFired(String key, boolean arrived) implements SessionCommand {}

  /**
   * The directory entry of the session.
   *
   * @param seq the number of the journal entry that it reflects; null if it has none
   */
  record Listed(@Nullable Long seq) implements SessionCommand {}

  /** Perform again what failed in the last attempt. */
  record PerformAgain() implements SessionCommand {}

  /** Resume the effects that were running when the journal ended. */
  record Resume() implements SessionCommand {}

  /** Be awake, so that unfinished work continues. */
  record Wake() implements SessionCommand {}

  /** Stop at once, even if effects run: the session is about to be erased. */
  record Vanish() implements SessionCommand {}

  /** There was no call for a while, or memory is needed for others. */
  record Idle() implements SessionCommand {}

  /**
   * Stop, if nothing is running.
   *
   * @param whenDone stop as soon as nothing is running, instead of staying awake
   */
  record Sleep(boolean whenDone) implements SessionCommand {}
}

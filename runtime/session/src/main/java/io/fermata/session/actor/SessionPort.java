package io.fermata.session.actor;

import io.fermata.flow.event.Effect;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.SessionCommand.Call;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.TraceContext;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * What differs between the sessions of runs and of threads: how a call becomes an input of the
 * program, how its outcome becomes a reply and entries of the journal, and what the lists of
 * sessions show. It decides and writes nothing itself; {@link SessionActor} calls it on its own
 * thread.
 *
 * @param <S> the state of the program
 * @param <I> its inputs
 * @param <E> its events
 * @param <F> its effects
 * @param <R> their results
 * @param <W> what they can reach
 */
public interface SessionPort<S, I, E, F extends Effect, R, W> {

  /** What a port can use of its session. */
  interface Handle {
    String entityId();

    SessionHost host();

    ActorRef<SessionCommand> self();

    Logger log();

    /** The number of the last entry that is journaled. */
    long seq();

    /** A text without the secrets of the session. */
    String masked(@Nullable String text);

    /**
     * Logs what the author's code threw while something was accepted or refused.
     *
     * @param before the moment before that
     */
    void threw(Program.Acceptance<?, ?> acceptance, Quotable before);

    /** Logs that something failed, which throws nothing or this. */
    void warn(String what, String failure, @Nullable Throwable thrown, Quotable quotable);

    /** Treats the values of secret fields in a state as secret from now on. */
    void keepSecret(RunState run);

    /** Encrypts every entry and snapshot from now on, if the host has a key. */
    void encryptWhole();
  }

  /**
   * What a failure may quote, also before the journal has it.
   *
   * @param events what has happened since the last entry
   * @param state that of the program after it
   */
  record Quotable(List<?> events, Object state) {}

  /**
   * A session at one moment.
   *
   * @param state the fold of its journal
   * @param ahead the state of its program, which may be ahead of the journal
   * @param unjournaled the events between the two
   * @param seq the number of the journal's last entry
   * @param origin who caused the events that are not journaled
   * @param callIds the ids of the calls that are being driven
   * @param current the latest of these calls
   */
  record Situation<S, E>(
      SessionState<S> state,
      S ahead,
      List<E> unjournaled,
      long seq,
      long now,
      Entry.Origin origin,
      List<String> callIds,
      @Nullable Waiting current) {

    public boolean hasEvents() {
      return !unjournaled.isEmpty();
    }

    /** Whether a call repeats one whose work continues, or was cut off, without a reply so far. */
    public boolean isOpen(Call call) {
      return state.calls().isOpen(call.callId());
    }

    /** The same behind entries that are written before it, with these events. */
    public Situation<S, E> after(int entries, List<E> events) {
      return new Situation<>(state, ahead, events, seq + entries, now, origin, callIds, current);
    }

    /** The next entry, with what is not journaled. */
    public Entry<E> entry() {
      return Entry.of(seq + 1, now, origin, List.copyOf(unjournaled));
    }
  }

  /** How a call is handled. */
  sealed interface Admission<I, E> {}

  /** It gets a reply, and changes nothing. */
  record Answer<I, E>(SessionReply reply) implements Admission<I, E> {}

  /** It is an input of the program. */
  record Accept<I, E>(I input) implements Admission<I, E> {}

  /**
   * Events happen without an input of the program.
   *
   * @param first whether the call is handled afterwards, by the program that runs the session then
   */
  record Happen<I, E>(List<E> events, boolean first) implements Admission<I, E> {}

  /** It gets a reply once entries are persisted. */
  record Write<I, E>(Written<E> written) implements Admission<I, E> {}

  /**
   * Entries to be persisted, and the reply that leaves once they are.
   *
   * @param reply null if there is no caller
   */
  record Written<E>(List<Entry<E>> entries, @Nullable SessionReply reply) {}

  // --- the program ----------------------------------------------------------------------------

  /** The program that runs a session in this state; null if the host has none that can. */
  @Nullable Program<S, I, E, F, R, W> program(S state);

  /** The program that starts sessions and folds all journals. */
  Program<S, I, E, F, R, W> newest();

  /** The program that takes an input. */
  default Program<S, I, E, F, R, W> programFor(S state, I input) {
    Program<S, I, E, F, R, W> program = program(state);
    return program == null ? newest() : program;
  }

  /** The state of the program after an entry that ends something. */
  S ended(Entry<E> entry);

  /** Whether effects that are declared idempotent may run before their cause is journaled. */
  default boolean runsAhead() {
    return false;
  }

  /** Whether the program can sleep until a timer fires, as opposed to a retry. */
  boolean onlyWaits(F timer);

  /** What has decided about an input, and what came of it, for the log. */
  String decider(List<E> events);

  /** Where its authors' code belongs that blocks. */
  String mayBlock();

  // --- calls ----------------------------------------------------------------------------------

  /** The reply to a call that needs no input: a view, or a call that was handled before. */
  @Nullable SessionReply known(Situation<S, E> at, Call call);

  /** Whether a call ends the current work, instead of waiting for it. */
  default boolean interrupts(Situation<S, E> at, Call call) {
    return false;
  }

  /** Whether the calls being driven are to be journaled before another one ends their work. */
  default boolean journalsCalls(Situation<S, E> at) {
    return false;
  }

  /** Whether a call answers a question while other work of the session continues. */
  default boolean answersMeanwhile(Situation<S, E> at, Call call) {
    return false;
  }

  /** How a call is handled when its turn comes. */
  Admission<I, E> admit(Situation<S, E> at, Call call);

  /**
   * How a session continues after recovery.
   *
   * @param running the keys of the effects that still run
   */
  Admission<I, E> resume(Situation<S, E> at, Set<String> running);

  /** Whether a recovered session has effects or timers to resume, or has expired meanwhile. */
  boolean resumes(S state, long now);

  /** Whether a session that is due is to be continued by another program than it waits for. */
  default boolean takenOver(S state) {
    return false;
  }

  /** Whether something of a session waits for a release that has what this one lacks. */
  default boolean lacks(S state) {
    return false;
  }

  /** When a session resumes by itself; null if it waits for a call. */
  Entry.@Nullable Wake wake(Program.Next<F> next);

  /** Whether effects of the program are outstanding. */
  boolean works(S state);

  /** The input when the last caller is answered before the work ends; null for none. */
  default @Nullable I unattended(Situation<S, E> at) {
    return null;
  }

  /** The input with which a session continues at a pause; null if it waits for a caller. */
  default @Nullable I continuesAlone(Situation<S, E> at, Outcome outcome) {
    return null;
  }

  /** Whether the caller waits until a pause ends. */
  default boolean waitsFor(Situation<S, E> at, Program.Pause<F> pause) {
    return false;
  }

  /** Whether callers get their reply although effects are outstanding. */
  default boolean settles(S ahead, List<F> outstanding) {
    return false;
  }

  // --- replies and entries --------------------------------------------------------------------

  /** The reply to a call that changes nothing, and why. */
  SessionReply refused(Situation<S, E> at, Outcome.Failure why);

  /**
   * The entries and reply when the program has paused or finished.
   *
   * @param again whether nothing happened since the last pause
   * @param beside timers, and effects that no caller waits for
   */
  Written<E> settled(Situation<S, E> at, Program.Next<F> next, boolean again, List<F> beside);

  /** The entries to persist before effects start. */
  Written<E> working(Situation<S, E> at);

  /** The entries and reply of a call that does not wait for the work. */
  Written<E> acknowledged(Situation<S, E> at, Waiting call);

  /** The entries and reply of a call whose deadline passed; repeated, it gets the outcome. */
  Written<E> detached(Situation<S, E> at, Waiting call);

  /** The entries and reply of a call that waited behind others until its deadline. */
  Written<E> withdrawn(Situation<S, E> at, Waiting call);

  /** The reply to a call whose work another call has ended. */
  default SessionReply displaced(Situation<S, E> at, Call call, SessionReply reply) {
    return reply;
  }

  /** The call being driven caused an event. */
  default void happened(Waiting call, E event, long at) {}

  // --- the journal ----------------------------------------------------------------------------

  /** An entry was applied to the state, after it was persisted or during recovery. */
  default void applied(Entry<E> entry, S before, S after) {}

  /** The journal was read; the directory may lag behind. */
  default void recovered(SessionState<S> state) {}

  /**
   * Entries were persisted, or there was nothing to persist.
   *
   * @param ahead the state of the program before an end was folded
   * @param current the call that is being driven
   * @return completes when the reply may leave; null if it may at once
   */
  @Nullable CompletionStage<?> persisted(
      SessionState<S> before,
      List<Entry<E>> entries,
      SessionState<S> after,
      S ahead,
      @Nullable Waiting current);

  /** The directory's entry of the session reflects this sequence number; null if there is none. */
  default void listed(SessionState<S> state, long seq, @Nullable Long listed) {}

  // --- descriptions ---------------------------------------------------------------------------

  /** Adds the labels of a log line about the session. */
  void label(LogLabels labels, S state);

  /** The performer of effects in a state of the session. */
  Effects.Performer<F, R> performer(
      Program<S, I, E, F, R, W> program, Situation<S, E> at, TraceContext cause);

  /** Whether the success of an effect ends the session, so that nothing more is journaled. */
  default boolean endsSession(F effect) {
    return false;
  }

  /** Whether the program has ended. */
  default boolean over(S state) {
    return false;
  }

  /** What is logged of a result, with the secrets in it; null for nothing. */
  @Nullable String failure(F effect, R result);

  /** What the author's code threw, for the log; null if it threw nothing. */
  @Nullable Throwable thrown(R result);
}

package io.fermata.session.actor;

import io.fermata.flow.event.Effect;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
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
import org.jspecify.annotations.Nullable;

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

  /**
   * A session at one moment.
   *
   * @param state the fold of its journal
   * @param ahead the state of its program, which may be ahead of the journal
   * @param unjournaled the events between the two
   * @param seq the number of the journal's last entry
   * @param origin who caused the events that are not journaled
   * @param callId the name of the call that they belong to
   * @param current the call that is being driven
   */
  record Situation<S, E>(
      SessionState<S> state,
      S ahead,
      List<E> unjournaled,
      long seq,
      long now,
      Entry.Origin origin,
      @Nullable String callId,
      @Nullable Waiting current) {

    public boolean news() {
      return !unjournaled.isEmpty();
    }

    /** The next entry, with what is not journaled. */
    public Entry<E> entry() {
      return Entry.of(seq + 1, now, origin, List.copyOf(unjournaled));
    }
  }

  /** What becomes of a call. */
  sealed interface Admission<I, E> {}

  /** It is replied to, and changes nothing. */
  record Answer<I, E>(SessionReply reply) implements Admission<I, E> {}

  /** It is an input of the program. */
  record Accept<I, E>(I input) implements Admission<I, E> {}

  /**
   * Something happens that is no input of the program.
   *
   * @param first whether the call is handled after it, as another program runs the session then
   */
  record Happen<I, E>(List<E> events, boolean first) implements Admission<I, E> {}

  /** It is replied to once something is written. */
  record Write<I, E>(Written<E> written) implements Admission<I, E> {}

  /**
   * Entries to be persisted, and the reply that leaves once they are.
   *
   * @param reply null if nobody is replied to
   */
  record Written<E>(List<Entry<E>> entries, @Nullable SessionReply reply) {}

  // --- the program ----------------------------------------------------------------------------

  /** The program that runs a session in this state; null if the host has none that can. */
  @Nullable Program<S, I, E, F, R, W> program(S state);

  /** The program that starts sessions, and folds the journals of all. */
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

  /** Whether a timer is a moment that the program waits for asleep, as opposed to a retry. */
  boolean onlyWaits(F timer);

  // --- calls ----------------------------------------------------------------------------------

  /** The reply to a call that needs no input: a view, or a call that was handled before. */
  @Nullable SessionReply known(Situation<S, E> at, Call call);

  /** Whether a call ends the work that goes on, instead of waiting for it. */
  default boolean interrupts(Situation<S, E> at, Call call) {
    return false;
  }

  /** Whether a call answers something while other work of the session goes on. */
  default boolean answersMeanwhile(Situation<S, E> at, Call call) {
    return false;
  }

  /** What becomes of a call whose turn it is. */
  Admission<I, E> admit(Situation<S, E> at, Call call);

  /**
   * What becomes of a session that was read back from its journal.
   *
   * @param running the keys of the effects that were not lost
   */
  Admission<I, E> resume(Situation<S, E> at, Set<String> running);

  /** Whether a session that was read back has something to resume or to wait for. */
  boolean resumes(S state);

  /** Whether effects of the program are outstanding. */
  boolean works(S state);

  /** The input that lets a session continue without its caller; null if it waits for one. */
  default @Nullable I continuesAlone(Situation<S, E> at, Outcome outcome) {
    return null;
  }

  /** Whether the caller may wait for what a pause waits for. */
  default boolean waitsFor(Situation<S, E> at, Program.Pause<F> pause) {
    return false;
  }

  /** Whether callers get their reply, though effects are outstanding. */
  default boolean settles(S ahead, List<F> outstanding) {
    return false;
  }

  // --- replies and entries --------------------------------------------------------------------

  /** The reply to a call that changes nothing, and why. */
  SessionReply refused(Situation<S, E> at, Outcome.Failure why);

  /**
   * The program has paused or finished.
   *
   * @param again whether nothing happened since the last pause
   * @param beside timers, and effects that no caller waits for
   */
  Written<E> settled(Situation<S, E> at, Program.Next<F> next, boolean again, List<F> beside);

  /** Effects are to be performed whose cause is not journaled. */
  Written<E> working(Situation<S, E> at);

  /** A call is replied to while the work goes on. */
  Written<E> acknowledged(Situation<S, E> at, Waiting call);

  /** A call is replied to before its work is done; repeated, it gets the outcome. */
  Written<E> detached(Situation<S, E> at, Waiting call);

  /** The reply to a call that waited behind others until its deadline. */
  SessionReply withdrawn(Situation<S, E> at, Waiting call);

  /** The reply to a call whose work another call has ended. */
  default SessionReply displaced(Situation<S, E> at, Call call, SessionReply reply) {
    return reply;
  }

  /** The call being driven made this happen. */
  default void happened(Waiting call, E event, long at) {}

  // --- the journal ----------------------------------------------------------------------------

  /** Whether snapshots of the session are kept. */
  default boolean keepsSnapshots() {
    return true;
  }

  /** An entry is part of the state, just persisted or read back. */
  default void applied(Entry<E> entry, S before, S after) {}

  /** The journal was read; the directory may lag behind. */
  default void recovered(SessionState<S> state) {}

  /**
   * The journal has these entries, or has had all there is to write.
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

  /** The directory has this of the session: the number of an entry, or null for nothing. */
  default void listed(SessionState<S> state, long seq, @Nullable Long listed) {}

  // --- descriptions ---------------------------------------------------------------------------

  /** Adds what a line of the log about the session is about. */
  void label(LogLabels labels, S state);

  /** The performer of effects in a state of the session. */
  Effects.Performer<F, R> performer(
      Program<S, I, E, F, R, W> program, Situation<S, E> at, TraceContext cause);

  /** Whether a session is over when an effect has succeeded, so that nothing is journaled of it. */
  default boolean endsSession(F effect) {
    return false;
  }

  /** Whether the program waits for nothing any more. */
  default boolean over(S state) {
    return false;
  }

  /** What is logged of a result; null for nothing. */
  @Nullable String failure(F effect, R result);
}

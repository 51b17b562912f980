package io.fermata.session.actor;

import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.SessionPort.Admission;
import io.fermata.session.actor.SessionPort.Situation;
import io.fermata.session.actor.SessionPort.Written;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.SlowDecisions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.persistence.typed.javadsl.EffectBuilder;
import org.apache.pekko.persistence.typed.javadsl.EffectFactories;
import org.jspecify.annotations.Nullable;

/**
 * The loop of one session, from an input that is accepted to the reply that leaves, and the state
 * of its program ahead of the journal. {@link SessionActor} explains it, and brings the inputs to
 * it: calls when their turn comes, results of effects, and timers.
 */
final class SessionLoop<S, I, E, F extends io.fermata.flow.event.Effect, R, W> {
  private final ActorContext<SessionCommand> context;
  private final ActorRef<SessionRegion.Message> region;
  private final SessionPort.Handle session;
  private final SessionHost host;
  private final SessionPort<S, I, E, F, R, W> port;
  private final Effects<F, R> effects;
  private final Calls calls;
  private final UnconfirmedReplies unconfirmed;
  private final EffectFactories<Entry<E>, SessionState<S>> journal;
  private final List<E> unjournaled = new ArrayList<>();

  private S ahead;
  private long seq;
  private @Nullable Entry<E> writing;

  /** The number of the last published entry while others may be, or come, in the journal. */
  private @Nullable Long published;

  private @Nullable Unpublished<S, E> unpublished;
  private boolean recovered;

  private boolean resultsUnjournaled;
  private boolean working;
  private boolean resuming;
  private boolean sleepy;

  private int failedErasures;

  /** The origin of unjournaled events, and the trace of the call. */
  private Entry.Origin origin = Entry.Origin.HOST;

  private TraceContext cause = TraceContext.NONE;

  SessionLoop(
      ActorContext<SessionCommand> context,
      ActorRef<SessionRegion.Message> region,
      SessionPort.Handle session,
      SessionPort<S, I, E, F, R, W> port,
      Effects<F, R> effects,
      Calls calls,
      EffectFactories<Entry<E>, SessionState<S>> journal) {
    this.context = context;
    this.region = region;
    this.session = session;
    this.host = session.host();
    this.port = port;
    this.effects = effects;
    this.calls = calls;
    this.unconfirmed =
        new UnconfirmedReplies(session.entityId(), host.placement(), context.getSelf());
    this.journal = journal;
    this.ahead = port.newest().initial();
  }

  /**
   * Entries that an earlier actor wrote and could not publish.
   *
   * @param reached the state of the program after them, before an end was folded
   */
  private record Unpublished<S, E>(SessionState<S> before, List<Entry<E>> entries, S reached) {}

  /** Publishes what the journal has after this number once it is read. */
  void continueAfter(@Nullable Long number) {
    published = number;
  }

  /** The number of the last published entry if the journal may have another; otherwise null. */
  @Nullable Long published() {
    return published;
  }

  S ahead() {
    return ahead;
  }

  /** The number of the last entry that is journaled. */
  long seq() {
    return seq;
  }

  Situation<S, E> situation(SessionState<S> state) {
    return new Situation<>(
        state, ahead, unjournaled, seq, host.now(), origin, calls.ids(), calls.current());
  }

  private Program<S, I, E, F, R, W> program() {
    Program<S, I, E, F, R, W> program = port.program(ahead);
    if (program == null) {
      throw new IllegalStateException("An effect of a program that is not registered");
    }
    return program;
  }

  /** Whether everything that happened is journaled. */
  boolean isJournaled() {
    return unjournaled.isEmpty();
  }

  /** Whether effects of the program are outstanding. */
  boolean works() {
    return working;
  }

  /** Whether it has recovered, and is to continue first. */
  boolean resumes() {
    return resuming;
  }

  /** Whether nothing happens until the next call or timer. */
  boolean idle() {
    return calls.none() && !resuming && !working;
  }

  // --- calls ----------------------------------------------------------------------------------

  /** Handles a call, whose turn it is. */
  EffectBuilder<Entry<E>, SessionState<S>> begin(SessionState<S> state, Waiting waiting) {
    take(waiting);
    SessionReply known = port.known(situation(state), waiting.call);
    return known != null
        ? answer(known, state)
        : admitted(state, port.admit(situation(state), waiting.call), waiting);
  }

  void take(Waiting waiting) {
    calls.drive(waiting);
    waiting.taken = true;
    causedBy(Entry.Origin.HOST);
  }

  /** What happens next is caused by the call that is being driven, or by others if none is. */
  private void causedBy(Entry.Origin others) {
    Waiting current = calls.current();
    if (unjournaled.isEmpty()) {
      origin = originOr(others);
      cause = current != null && current.taken ? current.call.trace() : cause;
    }
  }

  private Entry.Origin originOr(Entry.Origin others) {
    Waiting current = calls.current();
    return current != null && current.taken ? current.call.origin() : others;
  }

  EffectBuilder<Entry<E>, SessionState<S>> admitted(
      SessionState<S> state, Admission<I, E> admission, @Nullable Waiting waiting) {
    if (admission instanceof SessionPort.Answer<I, E> answer) {
      return answer(answer.reply(), state);
    } else if (admission instanceof SessionPort.Write<I, E> write) {
      Written<E> written = write.written();
      return write(
          state,
          written,
          ready -> answered(written.reply(), state, written.entries().isEmpty() ? ready : null));
    } else if (admission instanceof SessionPort.Happen<I, E> happen) {
      if (happen.first() && waiting != null) {
        calls.putBack(waiting);
      }
      return happened(state, new Program.Accepted<>(happen.events()));
    }
    return accept(state, ((SessionPort.Accept<I, E>) admission).input());
  }

  // --- accept, apply, next --------------------------------------------------------------------

  private EffectBuilder<Entry<E>, SessionState<S>> accept(SessionState<S> state, I input) {
    Program<S, I, E, F, R, W> program = port.programFor(ahead, input);
    Program.Acceptance<S, E> acceptance = decided(program, input);
    session.threw(acceptance, quotable());
    if (acceptance instanceof Program.Accepted<S, E> accepted) {
      return happened(state, accepted);
    }
    return refused(state, ((Program.Refused<S, E>) acceptance).failure());
  }

  private Program.Acceptance<S, E> decided(Program<S, I, E, F, R, W> program, I input) {
    SlowDecisions decisions = host.observers().decisions();
    long begun = decisions.now();
    Program.Acceptance<S, E> acceptance = program.accept(ahead, input);
    List<E> events =
        acceptance instanceof Program.Accepted<S, E> accepted ? accepted.events() : List.of();
    String warning = decisions.warning(begun, () -> port.decider(events), port.mayBlock());
    if (warning != null) {
      session.log().warn("{}", warning);
    }
    return acceptance;
  }

  private EffectBuilder<Entry<E>, SessionState<S>> refused(
      SessionState<S> state, Outcome.Failure why) {
    if (unjournaled.isEmpty()) {
      effects.journaled();
    }
    return answer(port.refused(situation(state), why), state);
  }

  private EffectBuilder<Entry<E>, SessionState<S>> happened(
      SessionState<S> state, Program.Accepted<S, E> accepted) {
    List<E> events = accepted.events();
    happens(accepted);
    Waiting current = calls.current();
    if (current != null) {
      long now = host.now();
      events.forEach(event -> port.happened(current, event, now));
    }
    return drive(state, events.isEmpty());
  }

  private SessionPort.Quotable quotable() {
    return new SessionPort.Quotable(unjournaled, ahead);
  }

  private void happens(Program.Accepted<S, E> accepted) {
    if (!accepted.events().isEmpty()) {
      ahead = port.newest().after(ahead, accepted, seq + 1);
      unjournaled.addAll(accepted.events());
    }
  }

  /** The work continues, and nobody waits for its outcome. */
  void unattended(SessionState<S> state) {
    causedBy(Entry.Origin.HOST);
    I input = port.unattended(situation(state));
    if (input != null && decided(program(), input) instanceof Program.Accepted<S, E> accepted) {
      happens(accepted);
    }
  }

  /**
   * Does what the program returns as next.
   *
   * @param again whether nothing happened since it was asked last
   */
  EffectBuilder<Entry<E>, SessionState<S>> drive(SessionState<S> state, boolean again) {
    Program.Next<F> next = program().next(ahead);
    working = next instanceof Program.Perform<F>;
    if (next instanceof Program.Perform<F> perform) {
      return perform(state, perform.effects());
    } else if (next instanceof Program.Pause<F> pause) {
      Situation<S, E> at = situation(state);
      boolean awaited = calls.current() != null || !state.calls().open().isEmpty();
      if (awaited && port.waitsFor(at, pause)) {
        return perform(state, pause.timers());
      }
      I alone = port.continuesAlone(at, pause.outcome());
      return alone == null ? settle(state, next, again, pause.timers()) : accept(state, alone);
    }
    return settle(state, next, again, List.of());
  }

  // --- perform --------------------------------------------------------------------------------

  private EffectBuilder<Entry<E>, SessionState<S>> perform(SessionState<S> state, List<F> wanted) {
    List<F> fresh = effects.retain(wanted);
    effects.plan(fresh);
    Waiting current = calls.current();
    if (current != null && (current.hasty || port.settles(ahead, wanted))) {
      return acknowledge(state, current, wanted, fresh);
    }
    boolean attended = working || current != null;
    boolean runsAhead =
        attended
            && !resultsUnjournaled
            && !hasPassed(state.wake())
            && origin.equals(originOr(origin))
            && canRunAhead(fresh);
    Written<E> written =
        unjournaled.isEmpty() || runsAhead
            ? new Written<>(List.of(), null)
            : port.working(situation(state));
    return write(state, written, ready -> start(state, fresh));
  }

  private boolean canRunAhead(List<F> fresh) {
    return port.runsAhead()
        && !fresh.isEmpty()
        && fresh.stream()
            .allMatch(
                effect ->
                    port.onlyWaits(effect) || (effect.policy().idempotent() && !effect.timer()));
  }

  /** Replies to a call once it is persisted, while work continues. */
  private EffectBuilder<Entry<E>, SessionState<S>> acknowledge(
      SessionState<S> state, Waiting call, List<F> wanted, List<F> fresh) {
    if (call.held == null || !call.held.callsAgain()) {
      unattended(state);
    }
    Written<E> written = port.acknowledged(situation(state), call);
    return write(
        state,
        written,
        ready -> {
          Waiting held = call.releaseHeld();
          start(state, fresh);
          answered(written, held, () -> port.settles(ahead, wanted), state, ready);
        });
  }

  private void start(SessionState<S> state, List<F> fresh) {
    if (!fresh.isEmpty()) {
      Effects.Performer<F, R> performer = port.performer(program(), situation(state), cause);
      Waiting current = calls.current();
      for (F effect : fresh) {
        if (effect.timer() && current != null) {
          current.timers.add(effect.key());
        }
        effects.start(effect, performer, port.onlyWaits(effect), host.now());
      }
    }
    if (sleepy) {
      context.getSelf().tell(new SessionCommand.Sleep(true));
    }
  }

  EffectBuilder<Entry<E>, SessionState<S>> effectEnded(SessionState<S> state, String key) {
    Effects.Ended<F, R> ended = effects.ended(key);
    if (ended == null) {
      return journal.none();
    }
    F effect = ended.effect();
    resultsUnjournaled |= !effect.policy().idempotent();
    String failure = port.failure(effect, ended.result());
    if (failure != null) {
      session.warn(effect.key(), failure, port.thrown(ended.result()), quotable());
    }
    return completed(state, effect, ended.result());
  }

  private EffectBuilder<Entry<E>, SessionState<S>> completed(
      SessionState<S> state, F effect, R result) {
    if (port.endsSession(effect)) {
      sessionEnded(port.failure(effect, result) != null);
      return journal.none();
    }
    causedBy(Entry.Origin.EFFECT);
    return accept(state, program().completed(effect, result, host.now()));
  }

  /** The data of the session is deleted, so nothing more can be journaled. */
  private void sessionEnded(boolean failed) {
    effects.journaled();
    working = failed;
    if (sleepy) {
      sleepWhenDone();
    } else if (failed) {
      Duration pause = SessionRegion.RECOVERY.after(++failedErasures);
      context.scheduleOnce(pause, context.getSelf(), new SessionCommand.PerformAgain());
    } else {
      offerToSleep();
    }
  }

  EffectBuilder<Entry<E>, SessionState<S>> effectTimedOut(SessionState<S> state, String key) {
    F effect = effects.expire(key);
    if (effect == null) {
      return effectEnded(state, key);
    }
    R late = port.newest().timedOut(effect);
    effects.deliver(effect, late);
    return completed(state, effect, late);
  }

  /** Whether a timer fires that is none of the call that is being driven. */
  boolean isForeign(SessionCommand.TimerFired fired) {
    Waiting current = calls.current();
    return current != null && current.taken && !current.timers.contains(fired.key());
  }

  EffectBuilder<Entry<E>, SessionState<S>> timerFired(
      SessionState<S> state, SessionCommand.TimerFired fired) {
    F timer = effects.due(fired.key(), fired.arrived(), host.now());
    if (timer == null) {
      return journal.none();
    }
    Waiting current = calls.current();
    if (isForeign(fired)) {
      origin = Entry.Origin.TIMER;
    } else {
      causedBy(Entry.Origin.TIMER);
    }
    if (current != null) {
      current.timers.remove(fired.key());
    }
    return accept(state, program().due(timer, host.now()));
  }

  // --- persist and reply ----------------------------------------------------------------------

  /** The program waits or has finished: everything is journaled, then the caller is replied to. */
  private EffectBuilder<Entry<E>, SessionState<S>> settle(
      SessionState<S> state, Program.Next<F> next, boolean again, List<F> beside) {
    Written<E> written = port.settled(situation(state), next, again, beside);
    return write(
        state,
        written,
        ready -> {
          start(state, effects.retain(beside));
          Waiting current = calls.current();
          Waiting held = current != null && current.hasty ? current.releaseHeld() : null;
          answered(written, held, () -> !waits(state, next), state, ready);
        });
  }

  private boolean waits(SessionState<S> state, Program.Next<F> next) {
    return next instanceof Program.Pause<F> pause && port.waitsFor(situation(state), pause);
  }

  /** Replies to the current call; one that it held continues, unless that is its reply, too. */
  private void answered(
      Written<E> written,
      @Nullable Waiting held,
      BooleanSupplier settled,
      SessionState<S> state,
      @Nullable CompletionStage<?> ready) {
    answered(written.reply(), state, ready);
    if (held != null) {
      calls.drive(held);
      if (settled.getAsBoolean()) {
        answered(written.reply(), state, ready);
      }
    }
  }

  /**
   * Persists the entries, if there are any, and only then continues.
   *
   * @param next gets what completes when the reply to what was persisted may leave, with another
   *     reply if that is to leave instead; null if it may leave at once
   */
  EffectBuilder<Entry<E>, SessionState<S>> write(
      SessionState<S> state, Written<E> written, Consumer<@Nullable CompletionStage<?>> next) {
    List<Entry<E>> entries = written.entries();
    if (entries.isEmpty()) {
      if (unjournaled.isEmpty()) {
        effects.journaled();
      }
      CompletionStage<?> ready = port.persisted(state, entries, state, ahead, calls.current());
      next.accept(UnconfirmedReplies.both(unconfirmed.doubt(), ready));
      return journal.none();
    }
    S reached = ahead;
    writing = stepOf(entries);
    published = seq;
    long begun = System.nanoTime();
    return journal
        .persist(entries)
        .thenRun(
            (SessionState<S> after) -> {
              long waited = System.nanoTime() - begun;
              host.telemetry().measured(Meter.APPENDS, (double) waited, List.of());
              host.telemetry().measured(Meter.ENTRIES, entries.size(), List.of());
              host.observers().gauges().congestion().appended(waited);
              writing = null;
              published = null;
              seq += entries.size();
              CompletionStage<?> ready =
                  port.persisted(state, entries, after, reached, calls.current());
              journaled(after);
              next.accept(ready);
            });
  }

  /**
   * The entry whose events lead to the current state of the program; null if those of several do,
   * as at the beginning of a fork.
   */
  private @Nullable Entry<E> stepOf(List<Entry<E>> entries) {
    List<Entry<E>> steps = entries.stream().filter(entry -> !entry.events().isEmpty()).toList();
    return steps.size() == 1 ? steps.get(0) : null;
  }

  /** The state of the program after an entry of the journal. */
  @SuppressWarnings("ReferenceEquality") // the very entry that is being written
  S after(Entry<E> entry, SessionState<S> before) {
    if (!recovered && published != null && entry.seq() > published) {
      unpublished = replay(entry, before);
    }
    if (entry.end() != null) {
      return port.ended(entry);
    }
    return entry == writing ? ahead : folded(entry, before);
  }

  private S folded(Entry<E> entry, SessionState<S> before) {
    return port.newest().apply(before.program(), entry.events(), entry.seq());
  }

  private Unpublished<S, E> replay(Entry<E> entry, SessionState<S> before) {
    List<Entry<E>> entries =
        new ArrayList<>(unpublished == null ? List.of() : unpublished.entries());
    entries.add(entry);
    return new Unpublished<>(
        unpublished == null ? before : unpublished.before(), entries, folded(entry, before));
  }

  private void journaled(SessionState<S> after) {
    resultsUnjournaled = false;
    unjournaled.clear();
    ahead = after.program();
    effects.journaled();
  }

  private EffectBuilder<Entry<E>, SessionState<S>> answer(
      SessionReply reply, SessionState<S> state) {
    answered(reply, state, unconfirmed.doubt());
    return journal.none();
  }

  private void answered(
      @Nullable SessionReply reply, SessionState<S> state, @Nullable CompletionStage<?> ready) {
    Waiting waiting = calls.release();
    if (waiting != null) {
      reply(waiting, reply, state, ready);
    }
    if (!calls.none() || sleepy) {
      context.getSelf().tell(new SessionCommand.Next());
    } else {
      rest();
    }
  }

  /** Replies to all who wait for a call. */
  void reply(
      Waiting waiting,
      @Nullable SessionReply reply,
      SessionState<S> state,
      @Nullable CompletionStage<?> ready) {
    if (reply == null) {
      return;
    }
    Situation<S, E> at = situation(state);
    unconfirmed.send(
        ready,
        reply,
        leaving -> {
          waiting.listeners().forEach(call -> call.reply(leaving));
          waiting.allDisplaced().forEach(call -> call.reply(port.displaced(at, call, leaving)));
        });
  }

  void replyUnwritten(Waiting waiting, @Nullable SessionReply reply, SessionState<S> state) {
    reply(waiting, reply, state, unconfirmed.doubt());
  }

  void replied() {
    unconfirmed.left();
    if (calls.none()) {
      rest();
    }
  }

  // --- wake and sleep -------------------------------------------------------------------------

  void recovered(SessionState<S> state, long last) {
    recovered = true;
    published = null;
    seq = last;
    ahead = state.program();
    working = port.works(ahead);
    port.recovered(state);
    publishLate(state);
    if (port.resumes(ahead, host.now())) {
      resuming = true;
      context.getSelf().tell(new SessionCommand.Resume());
    } else {
      effects.cancelAll();
    }
  }

  /** Nobody waits for what a lost append has written after all. */
  private void publishLate(SessionState<S> state) {
    Unpublished<S, E> late = unpublished;
    if (late != null) {
      unpublished = null;
      port.persisted(late.before(), late.entries(), state, late.reached(), null);
    }
  }

  EffectBuilder<Entry<E>, SessionState<S>> resume(SessionState<S> state) {
    resuming = false;
    Program<S, I, E, F, R, W> program = port.program(ahead);
    if (program == null) {
      effects.cancelAll();
    } else {
      effects.retain(wanted(program.next(ahead)));
    }
    origin = Entry.Origin.HOST;
    Admission<I, E> admission = port.resume(situation(state), effects.keys());
    effects.deliverAgain();
    working &= !(admission instanceof SessionPort.Answer<I, E>);
    return admitted(state, admission, null);
  }

  /** The session is due, or has unfinished work. */
  EffectBuilder<Entry<E>, SessionState<S>> woken(SessionState<S> state) {
    boolean takenOver = idle() && port.takenOver(ahead);
    return resuming || takenOver ? resume(state) : postpone(state);
  }

  /**
   * Writes when the session resumes by itself if only its journal says that it is due: other
   * settings, such as a longer expiry, may count now, and without an entry it would stay due.
   */
  EffectBuilder<Entry<E>, SessionState<S>> postpone(SessionState<S> state) {
    Program<S, I, E, F, R, W> program = port.program(ahead);
    boolean due = recovered && idle() && isDue(state.wake());
    if (!due || program == null || port.lacks(ahead)) {
      return journal.none();
    }
    Program.Next<F> next = program.next(ahead);
    Entry.Wake wake = port.wake(next);
    if (isDue(wake) || !(next instanceof Program.Pause<F>)) {
      return journal.none();
    }
    origin = Entry.Origin.HOST;
    Entry<E> entry = situation(state).entry().waking(wake);
    return write(state, new Written<>(List.of(entry), null), ready -> {});
  }

  private boolean isDue(Entry.@Nullable Wake wake) {
    return Entry.Wake.NOW.equals(wake) || hasPassed(wake);
  }

  /** Whether the moment for which the journal has a timer is over; the timer shows as late then. */
  private boolean hasPassed(Entry.@Nullable Wake wake) {
    return wake != null && wake.at() != null && wake.at() <= host.now();
  }

  private List<F> wanted(Program.Next<F> next) {
    return next instanceof Program.Perform<F> perform
        ? perform.effects()
        : next instanceof Program.Pause<F> pause ? pause.timers() : List.of();
  }

  /** No call waits. */
  void rest() {
    if (sleepy) {
      sleepWhenDone();
    } else if (port.over(ahead) && unconfirmed.none()) {
      offerToSleep();
    }
  }

  void sleepWhenDone() {
    sleepy = true;
    if (quiet()) {
      offerToSleep();
    }
  }

  /** Whether the session can sleep. */
  boolean quiet() {
    return unconfirmed.none()
        && !resuming
        && (sleepy
            ? (calls.none() ? effects.noneRunning() : waitsForLater())
            : calls.none() && effects.nothingPressing(host.now(), host.longestHeld()));
  }

  /** A call waits for a time that would not come before the session has to move. */
  private boolean waitsForLater() {
    return calls.current() != null
        && isJournaled()
        && effects.noneDueWithin(host.now(), host.placement().waitsBeforeItMoves());
  }

  void offerToSleep() {
    region.tell(new SessionRegion.Passivate(session.entityId(), context.getSelf()));
  }
}

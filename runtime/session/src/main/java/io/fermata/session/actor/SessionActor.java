package io.fermata.session.actor;

import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.logging.LogTexts;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.SessionCommand.Call;
import io.fermata.session.actor.SessionPort.Admission;
import io.fermata.session.actor.SessionPort.Situation;
import io.fermata.session.actor.SessionPort.Written;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.EntryEncryption;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.HostError;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.TraceContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.BackoffSupervisorStrategy;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.persistence.typed.EventAdapter;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.RecoveryCompleted;
import org.apache.pekko.persistence.typed.RecoveryFailed;
import org.apache.pekko.persistence.typed.SnapshotAdapter;
import org.apache.pekko.persistence.typed.SnapshotCompleted;
import org.apache.pekko.persistence.typed.SnapshotFailed;
import org.apache.pekko.persistence.typed.SnapshotMetadata;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.Effect;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.RetentionCriteria;
import org.apache.pekko.persistence.typed.javadsl.SignalHandler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Runs one session: a {@link Program} behind a journal. Runs of flows and threads of agents differ
 * in their program and in a {@link SessionPort}; the loop is this one:
 *
 * <pre>receive → accept → persist → apply → next → perform → reply</pre>
 *
 * <p>A call becomes an input. The program <i>accepts</i> it: events, or a refusal. The events are
 * <i>persisted</i> as one entry and <i>applied</i> to the state. <i>Next</i> returns what the
 * program needs: effects, which are <i>performed</i> on the host's handler threads and come back as
 * inputs; or a pause, or its end, which is the <i>reply</i>.
 *
 * <p><b>State.</b> {@code state} is the fold of the journal, {@code ahead} that of the journal and
 * of the events in {@code unjournaled}. They differ only while effects run that are declared
 * idempotent and whose cause needs no entry of its own; it is written together with what follows.
 *
 * <p><b>Replies.</b> A reply leaves when every event that it reflects is persisted, never earlier.
 * One call is driven at a time, others wait in order of arrival. A signal, and any call of a
 * thread, is handled while effects run, and replied to once it is persisted.
 *
 * <p>A reply that reflects no new entry, such as a status or a repeated question, leaves when no
 * other host can have taken the session over meanwhile: see {@link Placement#confirm}.
 *
 * <p><b>A crash of the process</b> before an entry is persisted: the call was not replied to, its
 * events never happened. After it: the client repeats the call under its name and gets the recorded
 * reply. Between an effect and the entry with its result: the effect is attempted again with the
 * same key, or, declared {@code once}, its outcome is unknown and a person decides.
 *
 * <p><b>An outage of the store</b> stops the actor: Pekko cannot continue after a failed append.
 * The region replies to its callers. Effects keep running, {@link LostEffects} keeps them and their
 * results, and the next actor of the session takes them over, so that none is attempted again. An
 * effect that was to start with the failed append starts then, if the journal has its entry after
 * all.
 *
 * @param <S> the state of the program
 * @param <I> its inputs
 * @param <E> its events
 * @param <F> its effects
 * @param <R> their results
 * @param <W> what they can reach
 */
public final class SessionActor<S, I, E, F extends io.fermata.flow.event.Effect, R, W>
    extends EventSourcedBehavior<SessionCommand, Entry<E>, SessionState<S>> {

  /** What a port can use of its session. */
  public interface Handle {
    String entityId();

    SessionHost host();

    ActorRef<SessionCommand> self();

    Logger log();

    /** The number of the last entry that is journaled. */
    long seq();

    /** A text without the secrets of the session. */
    String masked(@Nullable String text);

    /** Logs what the author's code threw while something was accepted or refused. */
    void threw(Program.Acceptance<?> acceptance);

    /** Treats the values of secret fields in a state as secret from now on. */
    void keepSecret(io.fermata.flow.event.RunState run);
  }

  /** It stops when the journal fails, and says so itself. */
  private static final BackoffSupervisorStrategy STOPS =
      SupervisorStrategy.restartWithBackoff(
              SessionRegion.RECOVERS, SessionRegion.RECOVERS.multipliedBy(2), 0)
          .withMaxRestarts(0)
          .withLoggingEnabled(false);

  private final Handle handle = new Self();
  private final String entityId;
  private final SessionHost host;
  private final ActorRef<SessionRegion.Message> region;
  private final ActorContext<SessionCommand> context;
  private final SessionPort<S, I, E, F, R, W> port;
  private final Effects<F, R> effects;
  private final EntryEncryption encryption;
  private final Calls calls;
  private final UnconfirmedReplies unconfirmed;
  private final List<E> unjournaled = new ArrayList<>();
  private final long born = System.nanoTime();

  private S ahead;
  private @Nullable Entry<E> writing;
  private boolean resultsUnjournaled;
  private boolean working;

  /** The origin of unjournaled events, and the trace of the call. */
  private Entry.Origin origin = Entry.Origin.HOST;

  private TraceContext cause = TraceContext.NONE;

  private boolean waking = true;
  private boolean unrecovered;
  private boolean resuming;
  private boolean sleepy;

  private boolean vanishing;
  private boolean leaving;
  private long seq;
  private long snapshotSeq;

  private SessionActor(
      String entityId,
      SessionHost host,
      ActorRef<SessionRegion.Message> region,
      ActorContext<SessionCommand> context,
      TimerScheduler<SessionCommand> timers,
      Function<Handle, SessionPort<S, I, E, F, R, W>> ports) {
    super(PersistenceId.ofUniqueId(entityId), STOPS);
    this.entityId = entityId;
    this.host = host;
    this.region = region;
    this.context = context;
    this.encryption = host.encryption().of(entityId);
    this.calls = new Calls(host.settings().waitingCalls());
    this.unconfirmed = new UnconfirmedReplies(entityId, host.placement(), context.getSelf());
    this.effects =
        host.lostEffects()
            .of(
                entityId,
                () ->
                    new Effects<>(
                        host.handlers().threads(), host.telemetry(), timers, context.getSelf()));
    this.effects.moveTo(context.getSelf(), timers);
    this.port = ports.apply(handle);
    this.ahead = port.newest().initial();
    host.observers().gauges().wakes();
  }

  /**
   * The actor of a session.
   *
   * @param ports creates the port of its kind
   */
  public static <S, I, E, F extends io.fermata.flow.event.Effect, R, W>
      Behavior<SessionCommand> create(
          String entityId,
          SessionHost host,
          ActorRef<SessionRegion.Message> region,
          Function<Handle, SessionPort<S, I, E, F, R, W>> ports) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> new SessionActor<>(entityId, host, region, context, timers, ports)));
  }

  private final class Self implements Handle {
    @Override
    public String entityId() {
      return entityId;
    }

    @Override
    public SessionHost host() {
      return host;
    }

    @Override
    public ActorRef<SessionCommand> self() {
      return context.getSelf();
    }

    /** The actor system clears the labels, with its own, after the message. */
    @Override
    public Logger log() {
      Logger log = context.getLog();
      port.label(LogLabels.on().session(entityId), ahead);
      return log;
    }

    @Override
    public long seq() {
      return seq;
    }

    @Override
    public String masked(@Nullable String text) {
      return text == null ? "" : encryption.masked(text);
    }

    @Override
    public void threw(Program.Acceptance<?> acceptance) {
      for (Throwable thrown : acceptance.thrown()) {
        logged("step", masked(thrown.toString()), thrown);
        host.handlers().steps().threw(thrown);
      }
    }

    @Override
    public void keepSecret(io.fermata.flow.event.RunState run) {
      encryption.learn(run);
    }
  }

  // --- the journal ----------------------------------------------------------------------------

  @Override
  public SessionState<S> emptyState() {
    return SessionState.of(port.newest().initial());
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // the very entry that is being written
  public EventHandler<SessionState<S>, Entry<E>> eventHandler() {
    return (state, entry) -> {
      S after;
      if (entry.end() != null) {
        after = port.ended(entry);
      } else if (entry == writing) {
        after = ahead;
      } else {
        after = port.newest().apply(state.program(), entry.events(), entry.seq());
      }
      port.applied(entry, state.program(), after);
      return state.apply(entry, after);
    };
  }

  @Override
  public Set<String> tagsFor(Entry<E> entry) {
    return entry.tags();
  }

  @Override
  public EventAdapter<Entry<E>, Object> eventAdapter() {
    return encryption.entries();
  }

  @Override
  public SnapshotAdapter<SessionState<S>> snapshotAdapter() {
    return encryption.snapshots(emptyState());
  }

  @Override
  public RetentionCriteria retentionCriteria() {
    return port.keepsSnapshots()
        ? RetentionCriteria.snapshotEvery(host.settings().snapshotEvery(), 1)
        : RetentionCriteria.disabled();
  }

  @Override
  public SignalHandler<SessionState<S>> signalHandler() {
    return newSignalHandlerBuilder()
        .onSignal(RecoveryCompleted.instance(), this::recovered)
        .onSignal(RecoveryFailed.class, (state, failed) -> unrecovered(failed.getFailure()))
        .onSignal(
            SnapshotCompleted.class, (state, done) -> snapshotEnded(done.getSnapshotMetadata()))
        .onSignal(
            SnapshotFailed.class, (state, failed) -> snapshotEnded(failed.getSnapshotMetadata()))
        .onSignal(PostStop.instance(), state -> stopped())
        .build();
  }

  // --- receive --------------------------------------------------------------------------------

  @Override
  public CommandHandler<SessionCommand, Entry<E>, SessionState<S>> commandHandler() {
    return (state, command) -> {
      if (command instanceof SessionCommand.Vanish) {
        return vanish();
      } else if (vanishing) {
        return Effect().none();
      }
      EncryptionException unreadable = encryption.unreadable();
      if (unreadable != null && command instanceof Call call) {
        // The next call reads it again: the key may be available by then.
        call.reply(SessionReply.failure(entityId, unreadable.failure()));
        offerToSleep();
        return Effect().none();
      }
      return handle(state, command);
    };
  }

  private Effect<Entry<E>, SessionState<S>> handle(SessionState<S> state, SessionCommand command) {
    if (command instanceof Call call) {
      call.reached();
      return call(state, call);
    } else if (command instanceof SessionCommand.EffectEnded ended) {
      return effectEnded(state, ended.key());
    } else if (command instanceof SessionCommand.EffectStarted started) {
      effects.started(started.key());
    } else if (command instanceof SessionCommand.TimerFired fired) {
      return timerFired(state, fired);
    } else if (command instanceof SessionCommand.EffectTimedOut late) {
      return effectTimedOut(state, late.key());
    } else if (command instanceof SessionCommand.Next) {
      return nextCall(state);
    } else if (command instanceof SessionCommand.Replied) {
      return replied();
    } else if (command instanceof SessionCommand.DeadlinePassed passed) {
      return deadlinePassed(state, passed.id());
    } else if (command instanceof SessionCommand.Progressed progressed) {
      publish(progressed);
    } else if (command instanceof SessionCommand.Resume && resuming) {
      resuming = false;
      return resume(state);
    } else if (command instanceof SessionCommand.PerformAgain) {
      return drive(state, program(ahead), true);
    } else if (command instanceof SessionCommand.Listed listed) {
      port.listed(state, seq, listed.seq());
    } else if (command instanceof SessionCommand.Wake) {
      region.tell(new SessionRegion.Woken(entityId));
    } else if (command instanceof SessionCommand.Idle && idle()) {
      offerToSleep();
    } else if (command instanceof SessionCommand.Sleep sleep) {
      return sleep(sleep.whenDone());
    }
    return Effect().none();
  }

  private Situation<S, E> situation(SessionState<S> state) {
    return new Situation<>(
        state, ahead, unjournaled, seq, host.now(), origin, calls.ids(), calls.current());
  }

  private Program<S, I, E, F, R, W> program(S state) {
    Program<S, I, E, F, R, W> program = port.program(state);
    if (program == null) {
      throw new IllegalStateException("An effect of a program that is not registered");
    }
    return program;
  }

  /** Whether nothing happens until the next call or timer. */
  private boolean idle() {
    return calls.none() && !resuming && !working;
  }

  // --- calls ----------------------------------------------------------------------------------

  private Effect<Entry<E>, SessionState<S>> call(SessionState<S> state, Call call) {
    Situation<S, E> at = situation(state);
    SessionReply known = port.known(at, call);
    if (known != null) {
      replyUnwritten(call, known);
      return Effect().none();
    } else if (calls.joins(call)) {
      return Effect().none();
    }
    if (call.request().readsOnly() && calls.current() == null) {
      calls.drive(new Waiting(call));
      return Effect().none();
    }
    boolean repeats = at.isOpen(call);
    boolean interrupts = !repeats && port.interrupts(at, call);
    boolean immediate = !repeats && call.request().immediate();
    if (resuming && (interrupts || immediate)) {
      context.getSelf().tell(call);
      return Effect().none();
    } else if (interrupts && !idle()) {
      return interrupt(state, new Waiting(call));
    } else if (immediate && canInterleave()) {
      return interleave(state, new Waiting(call));
    } else if (!(repeats && !effects.isEmpty())
        && (idle() || (canInterleave() && calls.none() && port.answersMeanwhile(at, call)))) {
      return begin(state, new Waiting(call));
    }
    // What asks for the outcome joins the work in flight; a paused run is driven by it.
    boolean joins = (working && call.request().asksAgain()) || repeats;
    if (calls.current() == null && joins) {
      calls.drive(new Waiting(call));
    } else if (!calls.enqueue(call)) {
      replyUnwritten(call, port.refused(at, HostError.BUSY.failure()));
    }
    return Effect().none();
  }

  /** Whether a call can be handled in between: not before one that came earlier and still waits. */
  private boolean canInterleave() {
    boolean first = calls.none() || calls.current() != null;
    return first && unjournaled.isEmpty() && !resuming;
  }

  /** Handles a call while another one waits for work or time, which waits for both then. */
  private Effect<Entry<E>, SessionState<S>> interleave(SessionState<S> state, Waiting call) {
    Waiting held = calls.release();
    call.hasty |= working;
    calls.setAside(held);
    Effect<Entry<E>, SessionState<S>> effect = begin(state, call);
    calls.setAside(null);
    if (calls.current() == call) {
      call.held = held;
    } else if (held != null) {
      calls.drive(held);
    }
    return effect;
  }

  private Effect<Entry<E>, SessionState<S>> begin(SessionState<S> state, Waiting waiting) {
    drive(waiting);
    SessionReply known = port.known(situation(state), waiting.call);
    return known != null
        ? answer(known, state)
        : admitted(state, port.admit(situation(state), waiting.call), waiting);
  }

  private void drive(Waiting waiting) {
    calls.drive(waiting);
    cause = waiting.call.trace();
    origin = waiting.call.origin();
  }

  /** Handles a call that ends the current work, without waiting for it. */
  private Effect<Entry<E>, SessionState<S>> interrupt(SessionState<S> state, Waiting interrupting) {
    if (!unjournaled.isEmpty()) {
      // What another call has caused so far is journaled first, as caused by that one.
      calls.putFirst(interrupting);
      return write(
          state,
          port.working(situation(state)),
          ready -> context.getSelf().tell(new SessionCommand.Next()));
    }
    Waiting driven = calls.release();
    if (driven != null) {
      interrupting.displace(driven);
    }
    drive(interrupting);
    return admitted(state, port.admit(situation(state), interrupting.call), interrupting);
  }

  private Effect<Entry<E>, SessionState<S>> admitted(
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
      return happened(state, happen.events());
    }
    return accept(state, ((SessionPort.Accept<I, E>) admission).input());
  }

  private Effect<Entry<E>, SessionState<S>> nextCall(SessionState<S> state) {
    boolean busy = calls.current() != null || working;
    Waiting first = calls.first();
    boolean interrupts = busy && first != null && port.interrupts(situation(state), first.call);
    if (resuming || (busy && !interrupts)) {
      return Effect().none();
    }
    Waiting waiting = calls.poll();
    if (waiting != null) {
      return interrupts ? interrupt(state, waiting) : begin(state, waiting);
    }
    return sleepy ? sleep(true) : Effect().none();
  }

  private Effect<Entry<E>, SessionState<S>> deadlinePassed(SessionState<S> state, long id) {
    Waiting current = calls.current();
    if (current != null && current.waitsFor(id)) {
      Call left = current.leave(id);
      if (left != null) {
        SessionReply reply = port.detached(situation(state), current).reply();
        if (reply != null) {
          replyUnwritten(left, reply);
        }
        return Effect().none();
      }
      unattended(state);
      Written<E> written = port.detached(situation(state), current);
      return write(
          state,
          written,
          ready -> {
            calls.release();
            replyWhen(ready, current, written.reply(), situation(state));
          });
    }
    Waiting withdrawn = calls.withdraw(id);
    if (withdrawn != null) {
      Situation<S, E> at = situation(state);
      replyWhen(unconfirmed.doubt(), withdrawn, port.withdrawn(at, withdrawn), at);
    }
    return Effect().none();
  }

  private void publish(SessionCommand.Progressed progressed) {
    Waiting current = calls.current();
    if (current != null && effects.isRunning(progressed.effect())) {
      current
          .listeners()
          .forEach(call -> call.replyTo().progress(call.id(), progressed.progress()));
    }
  }

  // --- accept, apply, next --------------------------------------------------------------------

  private Effect<Entry<E>, SessionState<S>> accept(SessionState<S> state, I input) {
    Program<S, I, E, F, R, W> program = port.programFor(ahead, input);
    Program.Acceptance<E> acceptance = program.accept(ahead, input);
    handle.threw(acceptance);
    if (acceptance instanceof Program.Accepted<E> accepted) {
      return happened(state, accepted.events());
    }
    return refused(state, ((Program.Refused<E>) acceptance).failure());
  }

  private Effect<Entry<E>, SessionState<S>> refused(
      SessionState<S> state, io.fermata.flow.event.Outcome.Failure why) {
    if (unjournaled.isEmpty()) {
      effects.journaled();
    }
    return answer(port.refused(situation(state), why), state);
  }

  private Effect<Entry<E>, SessionState<S>> happened(SessionState<S> state, List<E> events) {
    happens(events);
    Waiting current = calls.current();
    if (current != null) {
      long now = host.now();
      events.forEach(event -> port.happened(current, event, now));
    }
    return drive(state, program(ahead), events.isEmpty());
  }

  private void happens(List<E> events) {
    if (!events.isEmpty()) {
      ahead = port.newest().apply(ahead, events, seq + 1);
      unjournaled.addAll(events);
    }
  }

  /** The work continues, and nobody waits for its outcome. */
  private void unattended(SessionState<S> state) {
    I input = port.unattended(situation(state));
    if (input != null
        && program(ahead).accept(ahead, input) instanceof Program.Accepted<E> accepted) {
      happens(accepted.events());
    }
  }

  /**
   * Does what the program returns as next.
   *
   * @param again whether nothing happened since it was asked last
   */
  private Effect<Entry<E>, SessionState<S>> drive(
      SessionState<S> state, Program<S, I, E, F, R, W> program, boolean again) {
    Program.Next<F> next = program.next(ahead);
    working = next instanceof Program.Perform<F>;
    if (next instanceof Program.Perform<F> perform) {
      return perform(state, program, perform.effects());
    } else if (next instanceof Program.Pause<F> pause) {
      Situation<S, E> at = situation(state);
      boolean awaited = calls.current() != null || !state.calls().open().isEmpty();
      if (awaited && port.waitsFor(at, pause)) {
        return perform(state, program, pause.timers());
      }
      I alone = port.continuesAlone(at, pause.outcome());
      return alone == null
          ? settle(state, program, next, again, pause.timers())
          : accept(state, alone);
    }
    return settle(state, program, next, again, List.of());
  }

  // --- perform --------------------------------------------------------------------------------

  private Effect<Entry<E>, SessionState<S>> perform(
      SessionState<S> state, Program<S, I, E, F, R, W> program, List<F> wanted) {
    List<F> fresh = effects.retain(wanted);
    effects.plan(fresh);
    Waiting current = calls.current();
    if (current != null && (current.hasty || port.settles(ahead, wanted))) {
      return acknowledge(state, program, current, wanted, fresh);
    }
    boolean attended = working || current != null;
    boolean runsAhead = attended && !resultsUnjournaled && canRunAhead(fresh);
    Written<E> written =
        unjournaled.isEmpty() || runsAhead
            ? new Written<>(List.of(), null)
            : port.working(situation(state));
    return write(state, written, ready -> start(state, program, fresh));
  }

  private boolean canRunAhead(List<F> fresh) {
    if (!port.runsAhead() || fresh.isEmpty()) {
      return false;
    }
    for (F effect : fresh) {
      boolean idempotent = effect.policy().idempotent() && !effect.timer();
      if (!port.onlyWaits(effect) && !idempotent) {
        return false;
      }
    }
    return true;
  }

  /** Replies to a call once it is persisted, while work continues. */
  private Effect<Entry<E>, SessionState<S>> acknowledge(
      SessionState<S> state,
      Program<S, I, E, F, R, W> program,
      Waiting call,
      List<F> wanted,
      List<F> fresh) {
    if (call.held == null || !call.held.callsAgain()) {
      unattended(state);
    }
    Written<E> written = port.acknowledged(situation(state), call);
    return write(
        state,
        written,
        ready -> {
          Waiting held = call.releaseHeld();
          start(state, program, fresh);
          answered(written, held, () -> port.settles(ahead, wanted), state, ready);
        });
  }

  private void start(SessionState<S> state, Program<S, I, E, F, R, W> program, List<F> fresh) {
    if (!fresh.isEmpty()) {
      Effects.Performer<F, R> performer = port.performer(program, situation(state), cause);
      for (F effect : fresh) {
        effects.start(effect, performer, port.onlyWaits(effect), host.now());
      }
    }
    if (sleepy) {
      context.getSelf().tell(new SessionCommand.Sleep(true));
    }
  }

  private Effect<Entry<E>, SessionState<S>> effectEnded(SessionState<S> state, String key) {
    Effects.Ended<F, R> ended = effects.ended(key);
    if (ended == null) {
      return Effect().none();
    }
    F effect = ended.effect();
    resultsUnjournaled |= !effect.policy().idempotent();
    String failure = port.failure(effect, ended.result());
    if (failure != null) {
      logged(effect.key(), failure, port.thrown(ended.result()));
    }
    return completed(state, effect, ended.result());
  }

  private void logged(String what, String failure, @Nullable Throwable thrown) {
    Throwable trace = thrown == null ? null : LoggedFailure.of(thrown, handle::masked);
    handle.log().warn("{} {} failed: {}", entityId, what, LogTexts.inOneLine(failure), trace);
  }

  private Effect<Entry<E>, SessionState<S>> completed(SessionState<S> state, F effect, R result) {
    if (port.endsSession(effect)) {
      return sessionEnded(effect, result);
    }
    ifNoCall(Entry.Origin.EFFECT);
    return accept(state, program(ahead).completed(effect, result, host.now()));
  }

  /** The data of the session is deleted, so nothing more can be journaled. */
  private Effect<Entry<E>, SessionState<S>> sessionEnded(F effect, R result) {
    effects.journaled();
    boolean failed = port.failure(effect, result) != null;
    working = failed;
    if (sleepy) {
      return sleep(true);
    } else if (failed) {
      context.scheduleOnce(
          SessionRegion.RECOVERS, context.getSelf(), new SessionCommand.PerformAgain());
    } else {
      offerToSleep();
    }
    return Effect().none();
  }

  private void ifNoCall(Entry.Origin by) {
    if (calls.current() == null && unjournaled.isEmpty()) {
      origin = by;
    }
  }

  private Effect<Entry<E>, SessionState<S>> effectTimedOut(SessionState<S> state, String key) {
    F effect = effects.expire(key);
    if (effect == null) {
      return Effect().none();
    }
    R late = port.newest().timedOut(effect);
    effects.deliver(effect, late);
    return completed(state, effect, late);
  }

  private Effect<Entry<E>, SessionState<S>> timerFired(
      SessionState<S> state, SessionCommand.TimerFired fired) {
    F timer = effects.due(fired.key(), fired.arrived(), host.now());
    if (timer == null) {
      return Effect().none();
    }
    ifNoCall(Entry.Origin.TIMER);
    return accept(state, program(ahead).due(timer, host.now()));
  }

  // --- persist and reply ----------------------------------------------------------------------

  /** The program waits or has finished: everything is journaled, then the caller is replied to. */
  private Effect<Entry<E>, SessionState<S>> settle(
      SessionState<S> state,
      Program<S, I, E, F, R, W> program,
      Program.Next<F> next,
      boolean again,
      List<F> beside) {
    Written<E> written = port.settled(situation(state), next, again, beside);
    return write(
        state,
        written,
        ready -> {
          start(state, program, effects.retain(beside));
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

  /** What continues once entries are persisted. */
  private interface Persisted {

    /**
     * @param ready completes when the reply to what was persisted may leave, with another reply if
     *     that is to leave instead; null if it may leave at once
     */
    void then(@Nullable CompletionStage<?> ready);
  }

  /** Persists the entries, if there are any, and only then continues. */
  private Effect<Entry<E>, SessionState<S>> write(
      SessionState<S> state, Written<E> written, Persisted next) {
    List<Entry<E>> entries = written.entries();
    if (entries.isEmpty()) {
      if (unjournaled.isEmpty()) {
        effects.journaled();
      }
      CompletionStage<?> ready = port.persisted(state, entries, state, ahead, calls.current());
      next.then(UnconfirmedReplies.both(unconfirmed.doubt(), ready));
      return Effect().none();
    }
    S reached = ahead;
    writing = stepOf(entries);
    long begun = System.nanoTime();
    return Effect()
        .persist(entries)
        .thenRun(
            (SessionState<S> after) -> {
              long waited = System.nanoTime() - begun;
              host.telemetry().appended(entries.size(), waited);
              host.observers().gauges().congestion().appended(waited);
              writing = null;
              seq += entries.size();
              CompletionStage<?> ready =
                  port.persisted(state, entries, after, reached, calls.current());
              journaled(after);
              next.then(ready);
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

  private void journaled(SessionState<S> after) {
    resultsUnjournaled = false;
    unjournaled.clear();
    ahead = after.program();
    effects.journaled();
  }

  private Effect<Entry<E>, SessionState<S>> answer(SessionReply reply, SessionState<S> state) {
    answered(reply, state, unconfirmed.doubt());
    return Effect().none();
  }

  private void replyUnwritten(Call call, SessionReply reply) {
    unconfirmed.send(unconfirmed.doubt(), reply, call::reply);
  }

  private void answered(
      @Nullable SessionReply reply, SessionState<S> state, @Nullable CompletionStage<?> ready) {
    Waiting waiting = calls.release();
    if (waiting != null) {
      replyWhen(ready, waiting, reply, situation(state));
    }
    if (!calls.none() || sleepy) {
      context.getSelf().tell(new SessionCommand.Next());
    } else if (port.over(ahead) && unconfirmed.none()) {
      offerToSleep();
    }
  }

  private void replyWhen(
      @Nullable CompletionStage<?> ready,
      Waiting waiting,
      @Nullable SessionReply reply,
      Situation<S, E> at) {
    if (reply != null) {
      unconfirmed.send(ready, reply, leaving -> reply(waiting, leaving, at));
    }
  }

  private Effect<Entry<E>, SessionState<S>> replied() {
    unconfirmed.left();
    if (!unconfirmed.none() || !calls.none()) {
      return Effect().none();
    } else if (sleepy) {
      return sleep(true);
    } else if (port.over(ahead)) {
      offerToSleep();
    }
    return Effect().none();
  }

  private void reply(Waiting waiting, SessionReply reply, Situation<S, E> at) {
    waiting.listeners().forEach(call -> call.reply(reply));
    waiting.allDisplaced().forEach(call -> call.reply(port.displaced(at, call, reply)));
  }

  // --- wake and sleep -------------------------------------------------------------------------

  private void recovered(SessionState<S> state) {
    awake();
    host.telemetry().woke(System.nanoTime() - born);
    seq = lastSequenceNumber(context);
    snapshotSeq = seq;
    EncryptionException unreadable = encryption.unreadable();
    if (unreadable != null) {
      handle.log().error("Session {} cannot be read: {}", entityId, unreadable.getMessage());
      return;
    }
    host.lostEffects().takenOver(entityId);
    ahead = state.program();
    working = port.works(ahead);
    port.recovered(state);
    if (port.resumes(ahead)) {
      resuming = true;
      context.getSelf().tell(new SessionCommand.Resume());
    } else {
      effects.cancelAll();
    }
  }

  private Effect<Entry<E>, SessionState<S>> resume(SessionState<S> state) {
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

  private List<F> wanted(Program.Next<F> next) {
    return next instanceof Program.Perform<F> perform
        ? perform.effects()
        : next instanceof Program.Pause<F> pause ? pause.timers() : List.of();
  }

  /** Pekko reports one failure twice. */
  private void unrecovered(Throwable failure) {
    if (unrecovered) {
      return;
    }
    unrecovered = true;
    awake();
    UnreadableEntry unreadable = RootCauses.find(failure, UnreadableEntry.class);
    DamagedException damaged = RootCauses.find(failure, DamagedException.class);
    if (damaged != null) {
      leave(damaged, HostError.damaged(damaged));
    } else if (unreadable != null) {
      leave(unreadable, unreadable.failure());
    } else {
      handle.log().warn("Session {} could not be read and is retried", entityId, failure);
    }
  }

  private void leave(Exception because, Outcome.Failure why) {
    String reason = String.valueOf(because.getMessage());
    region.tell(new SessionRegion.Unreadable(entityId, context.getSelf(), why, reason));
  }

  private void awake() {
    if (waking) {
      waking = false;
      host.observers().gauges().woke();
    }
  }

  private void stopped() {
    awake();
    boolean left = leaving && encryption.unreadable() == null;
    if (left || !host.placement().isHeld(entityId)) {
      // Another host attempts again what runs here.
      effects.cancelAll();
    } else {
      host.lostEffects().keep(entityId, effects);
    }
  }

  private Effect<Entry<E>, SessionState<S>> stop() {
    leaving = true;
    return Effect().stop();
  }

  private void offerToSleep() {
    region.tell(new SessionRegion.Passivate(entityId, context.getSelf()));
  }

  private Effect<Entry<E>, SessionState<S>> sleep(boolean whenDone) {
    sleepy |= whenDone;
    boolean quiet =
        calls.none()
            && unconfirmed.none()
            && !resuming
            && (sleepy
                ? effects.noneRunning()
                : effects.nothingPressing(host.now(), host.longestHeld()));
    if (quiet && whenDone) {
      offerToSleep();
      return Effect().none();
    } else if (quiet) {
      return stop();
    } else if (!whenDone) {
      region.tell(new SessionRegion.StayAwake(entityId, context.getSelf()));
    }
    return Effect().none();
  }

  // --- erasure --------------------------------------------------------------------------------

  /** Waits for a snapshot that is being written, which would otherwise remain after the erasure. */
  private Effect<Entry<E>, SessionState<S>> vanish() {
    if (!vanishing) {
      vanishing = true;
      effects.cancelAll();
    }
    return savesSnapshot() ? Effect().none() : stop();
  }

  private boolean savesSnapshot() {
    int every = host.settings().snapshotEvery();
    return port.keepsSnapshots() && seq / every > snapshotSeq / every;
  }

  private void snapshotEnded(SnapshotMetadata snapshot) {
    snapshotSeq = Math.max(snapshotSeq, snapshot.sequenceNr());
    if (vanishing) {
      context.getSelf().tell(new SessionCommand.Vanish());
    }
  }
}

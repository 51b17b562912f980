package io.fermata.session.actor;

import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Texts;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.SessionCommand.Call;
import io.fermata.session.actor.SessionPort.Situation;
import io.fermata.session.actor.SessionPort.Written;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.EntryEncryption;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.HostError;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.RootCauses;
import io.fermata.session.observe.Meter;
import java.util.List;
import java.util.Set;
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
import org.apache.pekko.persistence.typed.javadsl.EffectBuilder;
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
 * <p>The actor receives, and decides which call is next; the {@link SessionLoop} does what follows.
 * A call becomes an input. The program <i>accepts</i> it: events, or a refusal. The events are
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
 * The region replies to its callers. Effects keep running, {@link LostSessions} keeps them and
 * their results, and the next actor of the session takes them over, so that none is attempted
 * again. An effect that was to start with the failed append starts then, if the journal has its
 * entry after all. Such an entry is also published then.
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

  /** It stops when the journal fails, and says so itself. */
  private static final BackoffSupervisorStrategy STOPS =
      SupervisorStrategy.restartWithBackoff(
              SessionRegion.RECOVERS, SessionRegion.RECOVERS.multipliedBy(2), 0)
          .withMaxRestarts(0)
          .withLoggingEnabled(false);

  private final SessionPort.Handle handle = new Self();
  private final String entityId;
  private final SessionHost host;
  private final ActorRef<SessionRegion.Message> region;
  private final ActorContext<SessionCommand> context;
  private final SessionPort<S, I, E, F, R, W> port;
  private final Effects<F, R> effects;
  private final EntryEncryption encryption;
  private final Calls calls;
  private final SessionLoop<S, I, E, F, R, W> loop;
  private final long born = System.nanoTime();

  /** What is handled next, and not behind what came while its cause was being journaled. */
  private @Nullable SessionCommand resubmitted;

  private boolean waking = true;
  private boolean unrecovered;
  private boolean vanishing;
  private boolean leaving;
  private long snapshotSeq;

  private SessionActor(
      String entityId,
      SessionHost host,
      ActorRef<SessionRegion.Message> region,
      ActorContext<SessionCommand> context,
      TimerScheduler<SessionCommand> timers,
      Function<SessionPort.Handle, SessionPort<S, I, E, F, R, W>> ports) {
    super(PersistenceId.ofUniqueId(entityId), STOPS);
    this.entityId = entityId;
    this.host = host;
    this.region = region;
    this.context = context;
    this.encryption = host.encryption().of(entityId);
    this.calls = new Calls(host.settings().waitingCalls());
    LostSessions.Left<F, R> left = host.lostSessions().of(entityId);
    this.effects =
        left != null
            ? left.effects()
            : new Effects<>(host.handlers().threads(), host.telemetry(), timers, context.getSelf());
    this.effects.moveTo(context.getSelf(), timers);
    this.port = ports.apply(handle);
    this.loop = new SessionLoop<>(context, region, handle, port, effects, calls, Effect());
    if (left != null) {
      loop.continueAfter(left.published());
    }
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
          Function<SessionPort.Handle, SessionPort<S, I, E, F, R, W>> ports) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> new SessionActor<>(entityId, host, region, context, timers, ports)));
  }

  private final class Self implements SessionPort.Handle {
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
      port.label(LogLabels.on().session(entityId), loop.ahead());
      return log;
    }

    @Override
    public long seq() {
      return loop.seq();
    }

    @Override
    public String masked(@Nullable String text) {
      return text == null ? "" : encryption.masked(text);
    }

    @Override
    public void threw(Program.Acceptance<?, ?> acceptance, SessionPort.Quotable before) {
      for (Throwable thrown : acceptance.thrown()) {
        if (acceptance instanceof Program.Accepted<?, ?> accepted) {
          encryption.learn(accepted.events());
        }
        warn("step", Failures.text(thrown), thrown, before);
        host.handlers().steps().threw(thrown);
      }
    }

    @Override
    public void warn(
        String what, String failure, @Nullable Throwable thrown, SessionPort.Quotable quotable) {
      encryption.learn(quotable.events());
      encryption.learnState(quotable.state());
      Throwable trace = thrown == null ? null : LoggedFailure.of(thrown, this::masked);
      log().warn("{} {} failed: {}", entityId, what, Texts.inOneLine(masked(failure)), trace);
    }

    @Override
    public void keepSecret(io.fermata.flow.event.RunState run) {
      encryption.learnState(run);
    }

    @Override
    public void encryptWhole() {
      encryption.encryptWhole();
    }
  }

  // --- the journal ----------------------------------------------------------------------------

  @Override
  public SessionState<S> emptyState() {
    return SessionState.of(port.newest().initial());
  }

  @Override
  public EventHandler<SessionState<S>, Entry<E>> eventHandler() {
    return (state, entry) -> {
      S after = loop.after(entry, state);
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
    return RetentionCriteria.snapshotEvery(host.settings().snapshotEvery(), 1);
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
      } else if (resubmitted != null) {
        return command.equals(resubmitted) ? handleAgain(state, command) : Effect().stash();
      }
      EncryptionException unreadable = encryption.unreadable();
      if (unreadable != null && command instanceof Call call) {
        // The next call reads it again: the key may be available by then.
        call.reply(SessionReply.failure(entityId, unreadable.failure()));
        loop.offerToSleep();
        return Effect().none();
      }
      return handle(state, command);
    };
  }

  private Effect<Entry<E>, SessionState<S>> handleAgain(
      SessionState<S> state, SessionCommand command) {
    resubmitted = null;
    return handle(state, command).thenUnstashAll();
  }

  private EffectBuilder<Entry<E>, SessionState<S>> handle(
      SessionState<S> state, SessionCommand command) {
    if (command instanceof Call call) {
      call.reached();
      return call(state, call);
    } else if (command instanceof SessionCommand.EffectEnded ended) {
      return loop.effectEnded(state, ended.key());
    } else if (command instanceof SessionCommand.EffectStarted started) {
      effects.started(started.key());
    } else if (command instanceof SessionCommand.TimerFired fired) {
      return loop.isForeign(fired) && !loop.isJournaled()
          ? journalFirst(state, fired)
          : loop.timerFired(state, fired);
    } else if (command instanceof SessionCommand.EffectTimedOut late) {
      return loop.effectTimedOut(state, late.key());
    } else if (command instanceof SessionCommand.Next) {
      return nextCall(state);
    } else if (command instanceof SessionCommand.Replied) {
      loop.replied();
    } else if (command instanceof SessionCommand.DeadlinePassed passed) {
      return deadlinePassed(state, passed.id());
    } else if (command instanceof SessionCommand.Progressed progressed) {
      publish(effects.progress(progressed.key()));
    } else if (command instanceof SessionCommand.Resume) {
      // A wake-up that came before it has resumed the session.
      return loop.resumes() ? loop.resume(state) : loop.postpone(state);
    } else if (command instanceof SessionCommand.PerformAgain) {
      return loop.drive(state, true);
    } else if (command instanceof SessionCommand.Listed listed) {
      port.listed(state, loop.seq(), listed.seq());
    } else if (command instanceof SessionCommand.Wake) {
      effects.catchUp(host.now());
      region.tell(new SessionRegion.Woken(entityId));
      return loop.woken(state);
    } else if (command instanceof SessionCommand.Idle && loop.idle()) {
      loop.offerToSleep();
    } else if (command instanceof SessionCommand.Sleep sleep) {
      return sleep(sleep.whenDone());
    }
    return Effect().none();
  }

  // --- calls ----------------------------------------------------------------------------------

  private EffectBuilder<Entry<E>, SessionState<S>> call(SessionState<S> state, Call call) {
    Situation<S, E> at = loop.situation(state);
    SessionReply known = port.known(at, call);
    if (known != null) {
      loop.replyUnwritten(new Waiting(call), known, state);
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
    boolean continues = repeats && !effects.isEmpty();
    if (loop.resumes() && (interrupts || immediate)) {
      context.getSelf().tell(call);
      return Effect().none();
    } else if (interrupts && !loop.idle()) {
      return interrupt(state, new Waiting(call));
    }
    boolean answers = calls.none() && !continues && port.answersMeanwhile(at, call);
    boolean meanwhile = canInterleave() && (immediate || answers);
    if (meanwhile && !loop.isJournaled()) {
      return journalFirst(state, call);
    } else if (meanwhile && immediate) {
      return interleave(state, new Waiting(call));
    } else if (meanwhile || (loop.idle() && !continues)) {
      return loop.begin(state, new Waiting(call));
    }
    // What asks for the outcome joins the work in flight; a paused run is driven by it.
    boolean joins = (loop.works() && call.request().asksAgain()) || repeats;
    if (calls.current() == null && joins) {
      calls.drive(new Waiting(call));
    } else if (!calls.enqueue(call)) {
      loop.replyUnwritten(new Waiting(call), port.refused(at, HostError.BUSY.failure()), state);
    }
    return Effect().none();
  }

  /** Whether a call can be handled in between: not before one that came earlier and still waits. */
  private boolean canInterleave() {
    return (calls.none() || calls.current() != null) && !loop.resumes();
  }

  /**
   * What others have caused so far is journaled, as caused by them, before a command is handled.
   */
  private EffectBuilder<Entry<E>, SessionState<S>> journalFirst(
      SessionState<S> state, SessionCommand next) {
    return loop.write(
        state,
        port.working(loop.situation(state)),
        ready -> {
          resubmitted = next;
          context.getSelf().tell(next);
        });
  }

  /** Handles a call while another one waits for work or time, which waits for both then. */
  private EffectBuilder<Entry<E>, SessionState<S>> interleave(SessionState<S> state, Waiting call) {
    Waiting held = calls.release();
    call.hasty |= loop.works();
    calls.setAside(held);
    EffectBuilder<Entry<E>, SessionState<S>> effect = loop.begin(state, call);
    calls.setAside(null);
    if (calls.current() == call) {
      call.held = held;
    } else if (held != null) {
      calls.drive(held);
    }
    return effect;
  }

  /** Handles a call that ends the current work, without waiting for it. */
  private EffectBuilder<Entry<E>, SessionState<S>> interrupt(
      SessionState<S> state, Waiting interrupting) {
    if (!loop.isJournaled() || port.journalsCalls(loop.situation(state))) {
      calls.putFirst(interrupting);
      return journalFirst(state, new SessionCommand.Next());
    }
    Waiting driven = calls.release();
    if (driven != null) {
      interrupting.displace(driven);
    }
    loop.take(interrupting);
    return loop.admitted(state, port.admit(loop.situation(state), interrupting.call), interrupting);
  }

  private EffectBuilder<Entry<E>, SessionState<S>> nextCall(SessionState<S> state) {
    boolean busy = calls.current() != null || loop.works();
    Waiting first = calls.first();
    boolean interrupts =
        busy && first != null && port.interrupts(loop.situation(state), first.call);
    if (loop.resumes() || (busy && !interrupts)) {
      return Effect().none();
    }
    Waiting waiting = calls.poll();
    if (waiting != null) {
      return interrupts ? interrupt(state, waiting) : loop.begin(state, waiting);
    }
    loop.rest();
    return Effect().none();
  }

  private EffectBuilder<Entry<E>, SessionState<S>> deadlinePassed(SessionState<S> state, long id) {
    Waiting current = calls.current();
    if (current != null && current.waitsFor(id)) {
      Call left = current.leave(id);
      if (left != null) {
        SessionReply reply = port.detached(loop.situation(state), current).reply();
        loop.replyUnwritten(new Waiting(left), reply, state);
        return Effect().none();
      }
      loop.unattended(state);
      Written<E> written = port.detached(loop.situation(state), current);
      return loop.write(
          state,
          written,
          ready -> {
            calls.release();
            loop.reply(current, written.reply(), state, ready);
          });
    }
    Waiting withdrawn = calls.withdraw(id);
    if (withdrawn == null) {
      return Effect().none();
    }
    Written<E> written = port.withdrawn(loop.situation(state), withdrawn);
    if (written.entries().isEmpty()) {
      loop.replyUnwritten(withdrawn, written.reply(), state);
      return Effect().none();
    }
    return loop.write(
        state, written, ready -> loop.reply(withdrawn, written.reply(), state, ready));
  }

  private void publish(List<ToolProgress> pieces) {
    Waiting current = calls.current();
    if (current != null) {
      List<Call> listeners = current.listeners();
      pieces.forEach(piece -> listeners.forEach(call -> call.replyTo().progress(call.id(), piece)));
    }
  }

  // --- wake and sleep -------------------------------------------------------------------------

  private void recovered(SessionState<S> state) {
    awake();
    host.telemetry().measured(Meter.WAKES, (double) (System.nanoTime() - born), List.of());
    snapshotSeq = lastSequenceNumber(context);
    EncryptionException unreadable = encryption.unreadable();
    if (unreadable != null) {
      handle.log().error("Session {} cannot be read: {}", entityId, unreadable.getMessage());
      host.telemetry().measured(Meter.UNREADABLE, 1, List.of(unreadable.code()));
      return;
    }
    host.lostSessions().takenOver(entityId);
    loop.recovered(state, snapshotSeq);
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
      host.observers().unread().log(handle.log(), entityId, failure);
    }
  }

  private void leave(Exception because, Outcome.Failure why) {
    String reason = String.valueOf(because.getMessage());
    host.telemetry().measured(Meter.UNREADABLE, 1, List.of(why.code()));
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
      effects.mute();
      host.lostSessions().keep(entityId, effects, loop.published());
    }
  }

  private EffectBuilder<Entry<E>, SessionState<S>> stop() {
    leaving = true;
    return Effect().stop();
  }

  private EffectBuilder<Entry<E>, SessionState<S>> sleep(boolean whenDone) {
    if (whenDone) {
      loop.sleepWhenDone();
    } else if (loop.quiet()) {
      region.tell(new SessionRegion.FallsAsleep(entityId, context.getSelf()));
      return stop();
    } else {
      region.tell(new SessionRegion.StayAwake(entityId, context.getSelf()));
    }
    return Effect().none();
  }

  // --- erasure --------------------------------------------------------------------------------

  /** Waits for a snapshot that is being written, which would otherwise remain after the erasure. */
  private EffectBuilder<Entry<E>, SessionState<S>> vanish() {
    if (!vanishing) {
      vanishing = true;
      effects.cancelAll();
    }
    return savesSnapshot() ? Effect().none() : stop();
  }

  private boolean savesSnapshot() {
    int every = host.settings().snapshotEvery();
    return loop.seq() / every > snapshotSeq / every;
  }

  private void snapshotEnded(SnapshotMetadata snapshot) {
    snapshotSeq = Math.max(snapshotSeq, snapshot.sequenceNr());
    if (vanishing) {
      context.getSelf().tell(new SessionCommand.Vanish());
    }
  }
}

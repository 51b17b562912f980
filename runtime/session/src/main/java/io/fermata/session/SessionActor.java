package io.fermata.session;

import io.fermata.flow.Outcome;
import io.fermata.flow.RunState;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
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
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.RetentionCriteria;
import org.apache.pekko.persistence.typed.javadsl.SignalHandler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * The shell around one session's program, whatever the program is: it performs effects off its own
 * thread and hands back what came of them, takes up what was under way when the journal ended, and
 * goes to sleep when there is nothing to do. What is journaled, and what those are told who talk
 * with the session, is up to the kind of session.
 *
 * @param <F> what the program wants done
 * @param <T> what comes of it
 * @param <J> the fold of the journal
 */
abstract class SessionActor<F extends io.fermata.flow.Effect, T, J>
    extends EventSourcedBehavior<SessionCommand, JournalRecord, J> {
  private final String entityId;
  private final Shell shell;
  private final ActorContext<SessionCommand> context;
  private final Effects<F, T> effects;
  private final Sealing sealing;
  private final long born = System.nanoTime();
  private boolean waking = true;
  private boolean resuming;
  private boolean sleepy;
  private boolean vanishing;
  private long snapshotSeq;

  SessionActor(
      String entityId,
      Shell shell,
      ActorContext<SessionCommand> context,
      TimerScheduler<SessionCommand> timers) {
    super(PersistenceId.ofUniqueId(entityId));
    this.entityId = entityId;
    this.shell = shell;
    this.context = context;
    this.sealing = shell.seals().of(entityId);
    this.effects =
        new Effects<>(shell.handlerThreads(), shell.telemetry(), timers, context.getSelf());
    shell.gauges().wakes();
  }

  // --- what a kind of session decides ---------------------------------------------------------

  /** What somebody wants of the session. */
  abstract Effect<JournalRecord, J> hear(J state, SessionCommand command);

  /** Knows from now on what the journal says. Returns whether there is something to take up. */
  abstract boolean recall(J state);

  /** The journal has been read: whatever comes is answered from now on. */
  void listens() {}

  /** Takes up the effects and timers that the journal leaves outstanding. */
  abstract Effect<JournalRecord, J> resume(J state);

  /** An effect has come to its end. */
  abstract Effect<JournalRecord, J> ended(J state, F effect, T result);

  /** An effect took longer than it may, and is given up. */
  abstract Effect<JournalRecord, J> overdue(J state, F effect);

  /** The moment has come that the program waits for. */
  abstract Effect<JournalRecord, J> due(J state, F timer);

  /** Whether a timer is a moment that the program waits for in its sleep, as opposed to a retry. */
  abstract boolean onlyWaits(F timer);

  /** Whether somebody waits for what the session does. */
  abstract boolean waitedFor();

  /** All that there is of it is about to be erased; whoever waits is to be told. */
  abstract void vanish(J state);

  /** Whether snapshots are kept of its state. */
  boolean keepsSnapshots() {
    return true;
  }

  /** Whether handlers work for the program, or failed ones are to be tried again. */
  abstract boolean works(J state);

  /** Refuses what somebody wants, as the session's journal cannot be read. */
  abstract void refuse(SessionCommand command, Outcome.Failure why);

  /** What the fold of its journal is. */
  abstract Class<J> fold();

  // --- what it can rely on --------------------------------------------------------------------

  final String entityId() {
    return entityId;
  }

  final Shell shell() {
    return shell;
  }

  final ActorRef<SessionCommand> self() {
    return context.getSelf();
  }

  /** The actor system takes the labels away again, with its own, when the message is handled. */
  final Logger log() {
    Logger log = context.getLog();
    label(LogLabels.on().session(entityId));
    return log;
  }

  /** Adds what a line of the log is about. */
  abstract void label(LogLabels labels);

  final long now() {
    return shell.clock().millis();
  }

  /** A text for the log, without the secrets of the session. */
  final String masked(@Nullable String text) {
    return text == null ? "" : sealing.masked(text);
  }

  /** Takes what secret fields of a run's state hold for secret from now on. */
  final void keepSecret(RunState run) {
    sealing.learn(run);
  }

  /** Records are being appended; what is returned is run when they are. */
  final Runnable appending(int records) {
    Telemetry telemetry = shell.telemetry();
    if (telemetry == Telemetry.NONE) {
      return () -> {};
    }
    long begun = System.nanoTime();
    return () -> telemetry.appended(records, System.nanoTime() - begun);
  }

  /** The number of the last record that is journaled. */
  final long seq() {
    return lastSequenceNumber(context);
  }

  /** Whether what was under way when the journal ended is still to be taken up. */
  final boolean resuming() {
    return resuming;
  }

  /** Whether it has nothing to do until somebody comes, or a moment. */
  final boolean idleNow(J state) {
    return !waitedFor() && !resuming && !works(state);
  }

  /** Gives up what the program does not want any more. Returns what is not under way yet. */
  final List<F> retain(List<F> wanted) {
    return effects.retain(wanted);
  }

  /** Performs effects and keeps timers that are not under way yet. */
  final void start(List<F> fresh, Effects.Performer<F, T> performer) {
    for (F effect : fresh) {
      effects.start(effect, performer, onlyWaits(effect), now());
    }
    if (sleepy) {
      self().tell(new ShellCommand.Sleep(true));
    }
  }

  final boolean underWay(String effect) {
    return effects.underWay(effect);
  }

  /** Whether it goes to sleep as soon as it can. */
  final boolean sleepy() {
    return sleepy;
  }

  final void offerToSleep() {
    shell.sessions().tell(new Sessions.Passivate(entityId, self()));
  }

  /** Goes to sleep if nothing is under way, or else as soon as that is so. */
  final Effect<JournalRecord, J> sleepWhenDone() {
    return sleep(new ShellCommand.Sleep(true));
  }

  // --- the actor ------------------------------------------------------------------------------

  @Override
  public final RetentionCriteria retentionCriteria() {
    return keepsSnapshots()
        ? RetentionCriteria.snapshotEvery(shell.settings().snapshotEvery(), 1)
        : RetentionCriteria.disabled();
  }

  @Override
  public final EventAdapter<JournalRecord, Object> eventAdapter() {
    return sealing.events();
  }

  @Override
  public final SnapshotAdapter<J> snapshotAdapter() {
    return sealing.snapshots(fold(), emptyState());
  }

  @Override
  public final Set<String> tagsFor(JournalRecord entry) {
    return entry.tags();
  }

  @Override
  public final SignalHandler<J> signalHandler() {
    return newSignalHandlerBuilder()
        .onSignal(RecoveryCompleted.instance(), this::recovered)
        .onSignal(RecoveryFailed.class, (state, failed) -> unrecovered(failed.getFailure()))
        .onSignal(
            SnapshotCompleted.class, (state, done) -> snapshotEnded(done.getSnapshotMetadata()))
        .onSignal(
            SnapshotFailed.class, (state, failed) -> snapshotEnded(failed.getSnapshotMetadata()))
        .onSignal(PostStop.instance(), this::stopped)
        .build();
  }

  @Override
  public final CommandHandler<SessionCommand, JournalRecord, J> commandHandler() {
    return (state, command) -> {
      if (command instanceof ShellCommand.Vanish) {
        return vanishNow(state);
      } else if (vanishing) {
        return Effect().none();
      }
      SealException unreadable = sealing.unreadable();
      if (command instanceof ShellCommand own) {
        return handle(state, own);
      } else if (unreadable == null) {
        return hear(state, command);
      }
      // It is read again for the next command: the key may be there by then.
      refuse(command, unreadable.failure());
      offerToSleep();
      return Effect().none();
    };
  }

  /** A snapshot that is still being written would be there after everything was erased. */
  private Effect<JournalRecord, J> vanishNow(J state) {
    if (!vanishing) {
      vanishing = true;
      effects.giveUpAll();
      vanish(state);
    }
    return savesSnapshot() ? Effect().none() : Effect().stop();
  }

  private boolean savesSnapshot() {
    int every = shell.settings().snapshotEvery();
    return keepsSnapshots() && seq() / every > snapshotSeq / every;
  }

  private void snapshotEnded(SnapshotMetadata snapshot) {
    snapshotSeq = Math.max(snapshotSeq, snapshot.sequenceNr());
    if (vanishing) {
      self().tell(new ShellCommand.Vanish());
    }
  }

  private Effect<JournalRecord, J> handle(J state, ShellCommand command) {
    if (command instanceof ShellCommand.EffectEnded ended) {
      return effectEnded(state, ended.key());
    } else if (command instanceof ShellCommand.EffectBegun begun) {
      effects.begun(begun.key());
    } else if (command instanceof ShellCommand.EffectDue due) {
      return effectDue(state, due);
    } else if (command instanceof ShellCommand.EffectOverdue overdue) {
      return effectOverdue(state, overdue.key());
    } else if (command instanceof ShellCommand.Resume && resuming) {
      resuming = false;
      return resume(state);
    } else if (command instanceof ShellCommand.Idle && idleNow(state)) {
      offerToSleep();
    } else if (command instanceof ShellCommand.Sleep sleep) {
      return sleep(sleep);
    }
    return Effect().none();
  }

  private Effect<JournalRecord, J> effectEnded(J state, String key) {
    Effects.Ended<F, T> ended = effects.ended(key);
    return ended == null ? Effect().none() : ended(state, ended.effect(), ended.result());
  }

  private Effect<JournalRecord, J> effectOverdue(J state, String key) {
    F effect = effects.giveUp(key);
    return effect == null ? Effect().none() : overdue(state, effect);
  }

  private Effect<JournalRecord, J> effectDue(J state, ShellCommand.EffectDue due) {
    F timer = effects.due(due.key(), due.arrived(), now());
    return timer == null ? Effect().none() : due(state, timer);
  }

  private void stopped(J state) {
    awake();
    effects.giveUpAll();
  }

  private void awake() {
    if (waking) {
      waking = false;
      shell.gauges().woke();
    }
  }

  private void recovered(J state) {
    awake();
    shell.telemetry().woke(System.nanoTime() - born);
    snapshotSeq = seq();
    listens();
    SealException unreadable = sealing.unreadable();
    if (unreadable != null) {
      log().error("Session {} cannot be read: {}", entityId, unreadable.getMessage());
    } else if (recall(state)) {
      resuming = true;
      self().tell(new ShellCommand.Resume());
    }
  }

  private void unrecovered(Throwable failure) {
    awake();
    UnreadableRecord unreadable = Causes.find(failure, UnreadableRecord.class);
    if (unreadable != null) {
      log().error("Session {} cannot go on: {}", entityId, unreadable.getMessage());
      shell.sessions().tell(new Sessions.Unreadable(entityId, self()));
    }
  }

  private Effect<JournalRecord, J> sleep(ShellCommand.Sleep sleep) {
    sleepy |= sleep.whenDone();
    boolean quiet =
        !waitedFor()
            && !resuming
            && (sleepy ? effects.noneRunning() : effects.nothingPressing(now()));
    if (quiet && sleep.whenDone()) {
      offerToSleep();
      return Effect().none();
    } else if (quiet) {
      return Effect().stop();
    } else if (!sleep.whenDone()) {
      shell.sessions().tell(new Sessions.StayAwake(entityId, self()));
    }
    return Effect().none();
  }
}

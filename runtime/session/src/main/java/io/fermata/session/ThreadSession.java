package io.fermata.session;

import io.fermata.agent.Outside;
import io.fermata.agent.ThreadEffect;
import io.fermata.agent.ThreadEvent;
import io.fermata.agent.ThreadInput;
import io.fermata.agent.ThreadProgram;
import io.fermata.agent.ThreadState;
import io.fermata.flow.Outcome;
import io.fermata.flow.Program;
import io.fermata.persistence.DirectoryEntry;
import io.fermata.session.ThreadCommand.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.persistence.typed.javadsl.Effect;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session of an agent's thread. Everything that comes in is journaled at once, with all that
 * follows from it, and only then acted upon and acknowledged.
 */
final class ThreadSession extends SessionActor<ThreadEffect, ThreadInput.Result, ThreadState> {
  /** Not the actor's, which other threads may not use. */
  private static final Logger LOG = LoggerFactory.getLogger(ThreadSession.class);

  /** How long the directory may lag behind. */
  private static final Duration LAG = Duration.ofMillis(300);

  /** How long the store is left alone after it failed. */
  private static final Duration RECOVERS = Duration.ofSeconds(2);

  /** What is done in a turn, as opposed to what goes on beside it. */
  private static final Set<ThreadEffect.Kind> IN_TURN =
      EnumSet.of(
          ThreadEffect.Kind.GREET,
          ThreadEffect.Kind.RECEIVE,
          ThreadEffect.Kind.STEP,
          ThreadEffect.Kind.HANDLE,
          ThreadEffect.Kind.CALL,
          ThreadEffect.Kind.STORE,
          ThreadEffect.Kind.COMPACT);

  /** What is said for a thread that is being erased. */
  static final Reply NOT_THERE = refused(unknown());

  private final AgentHost host;
  private final TimerScheduler<SessionCommand> timers;
  private final List<ThreadCommand.Look> waiting = new ArrayList<>();
  private Threads.Standing standing = Threads.Standing.RESTING;
  private boolean works;
  private boolean entering;
  private boolean erased;
  private JournalRecord.@Nullable Turn writing;
  private ThreadState written = ThreadState.NONE;

  /** What the latest that came from outside was part of. */
  private TraceContext cause = TraceContext.NONE;

  private ThreadSession(
      String entityId,
      Shell shell,
      ActorContext<SessionCommand> context,
      TimerScheduler<SessionCommand> timers) {
    super(entityId, shell, context, timers);
    this.host = shell.agents();
    this.timers = timers;
  }

  static Behavior<SessionCommand> create(String entityId, Shell shell) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(timers -> new ThreadSession(entityId, shell, context, timers)));
  }

  @Override
  public ThreadState emptyState() {
    return ThreadState.NONE;
  }

  @Override
  public EventHandler<ThreadState, JournalRecord> eventHandler() {
    return (state, entry) -> {
      if (entry == writing) {
        writing = null;
        return written;
      }
      return entry instanceof JournalRecord.Turn turn
          ? state.apply(turn.events(), turn.seq())
          : state;
    };
  }

  // --- what comes in ---------------------------------------------------------------------------

  @Override
  Class<ThreadState> fold() {
    return ThreadState.class;
  }

  @Override
  void refuse(SessionCommand command, Outcome.Failure why) {
    reply(command, refused(why));
  }

  /** What is said in place of a thread that cannot be asked. */
  static Reply refused(Outcome.Failure why) {
    return new Reply(ThreadState.NONE, Threads.Standing.RESTING, 0, false, why);
  }

  static void reply(SessionCommand command, Reply reply) {
    if (command instanceof ThreadCommand.Tell tell) {
      tell.replyTo().tell(reply);
    } else if (command instanceof ThreadCommand.Look look) {
      look.replyTo().tell(reply);
    }
  }

  @Override
  Effect<JournalRecord, ThreadState> hear(ThreadState state, SessionCommand command) {
    if (command instanceof ThreadCommand.Tell tell) {
      return tell(state, tell);
    } else if (command instanceof ThreadCommand.Look look) {
      look(state, look);
    } else if (command instanceof ThreadCommand.Enough enough) {
      if (waiting.remove(enough.look())) {
        enough.look().replyTo().tell(new Reply(state, standing, seq(), false, null));
      }
    } else if (command instanceof ThreadCommand.Enter) {
      entering = false;
      enter(state);
      if (sleepy()) {
        self().tell(new ShellCommand.Sleep(true));
      }
    } else if (command instanceof ThreadCommand.Entered entered) {
      if (entered.seq() == null || entered.seq() < seq()) {
        enter(state);
      }
    } else if (command instanceof ThreadCommand.NotEntered && !sleepy()) {
      enterIn(RECOVERS, state);
    } else if (command instanceof ThreadCommand.Erase) {
      perform(state);
    }
    return Effect().none();
  }

  private Effect<JournalRecord, ThreadState> tell(ThreadState state, ThreadCommand.Tell tell) {
    if (!belongsTo(state, tell.principal())) {
      tell.replyTo().tell(refusal(state, unknown()));
      return Effect().none();
    }
    if (resuming()) {
      self().tell(tell);
      return Effect().none();
    }
    if (tell.principal() != null) {
      cause = tell.trace();
    }
    return take(state, tell.input(), tell.replyTo());
  }

  /** A thread that does not exist yet belongs to anybody, and refuses what it cannot take. */
  private static boolean belongsTo(ThreadState state, @Nullable String principal) {
    ThreadEvent.Created created = state.created();
    return principal == null || created == null || created.principal().equals(principal);
  }

  private static Outcome.Failure unknown() {
    return new Outcome.Failure("unknown_thread", "There is no such thread", null, List.of(), null);
  }

  private Reply refusal(ThreadState state, Outcome.Failure failure) {
    return new Reply(state, standing, seq(), false, failure);
  }

  private void look(ThreadState state, ThreadCommand.Look look) {
    if (!state.exists() || !belongsTo(state, look.principal())) {
      look.replyTo().tell(refusal(state, unknown()));
    } else if (look.patience() != null && standing == Threads.Standing.WORKING) {
      waiting.add(look);
      timers.startSingleTimer(look, new ThreadCommand.Enough(look), look.patience());
    } else {
      look.replyTo().tell(new Reply(state, standing, seq(), false, null));
    }
  }

  private Effect<JournalRecord, ThreadState> take(
      ThreadState state, ThreadInput input, @Nullable ActorRef<Reply> replyTo) {
    Program.Acceptance<ThreadEvent> acceptance = host.program().accept(state, input);
    if (acceptance instanceof Program.Refused<ThreadEvent> refused) {
      if (replyTo != null) {
        replyTo.tell(refusal(state, refused.failure()));
      }
      perform(state);
      return Effect().none();
    }
    List<ThreadEvent> events = ((Program.Accepted<ThreadEvent>) acceptance).events();
    if (events.isEmpty()) {
      if (input instanceof ThreadInput.Create) {
        answerEntered(state, replyTo, false);
      } else {
        answer(state, replyTo, false);
      }
      perform(state);
      return Effect().none();
    }
    return write(state, events, input.at(), replyTo);
  }

  private Effect<JournalRecord, ThreadState> write(
      ThreadState state, List<ThreadEvent> events, long at, @Nullable ActorRef<Reply> replyTo) {
    long seq = seq() + 1;
    ThreadState after = state.apply(events, seq);
    Program.Next<ThreadEffect> next = host.program().next(after);
    Long wakeAt = next instanceof Program.Pause<ThreadEffect> pause ? pause.until() : null;
    JournalRecord.Turn turn =
        new JournalRecord.Turn(
            seq, at, next instanceof Program.Perform<ThreadEffect>, wakeAt, events);
    writing = turn;
    written = after;
    Runnable appended = appending(1);
    return Effect()
        .persist(turn)
        .thenRun(
            (ThreadState now) -> {
              appended.run();
              tellFeeds(now, turn);
              follow(now, next);
              enterSoon(now, events, replyTo);
            });
  }

  // --- what is to be done ----------------------------------------------------------------------

  private void perform(ThreadState state) {
    follow(state, host.program().next(state));
  }

  private void follow(ThreadState state, Program.Next<ThreadEffect> next) {
    List<ThreadEffect> wanted =
        next instanceof Program.Perform<ThreadEffect> perform
            ? perform.effects()
            : next instanceof Program.Pause<ThreadEffect> pause ? pause.timers() : List.of();
    works = !erased && next instanceof Program.Perform<ThreadEffect>;
    standing = standing(state, wanted);
    if (state.exists() || (state.deleted() && !erased)) {
      Outside outside = host.outside().apply(state.threadId());
      start(retain(wanted), new Performer(host.program(), state, outside, entityId(), cause));
    }
    if (standing != Threads.Standing.WORKING && !waiting.isEmpty()) {
      tellWaiting(new Reply(state, standing, seq(), false, null));
    }
    if (sleepy() && !works) {
      self().tell(new ShellCommand.Sleep(true));
    }
  }

  private record Performer(
      ThreadProgram program,
      ThreadState state,
      Outside outside,
      String entityId,
      TraceContext cause)
      implements Effects.Performer<ThreadEffect, ThreadInput.Result> {
    @Override
    public CompletionStage<ThreadInput.Result> perform(ThreadEffect effect) {
      return program.perform(state, effect, outside);
    }

    @Override
    public ThreadInput.Result failed(ThreadEffect effect, Throwable thrown) {
      return program.failed(effect, thrown);
    }

    @Override
    public Telemetry.Effect told(ThreadEffect effect) {
      String kind = effect.kind().name().toLowerCase(Locale.ROOT);
      return new Telemetry.Effect(
          Telemetry.Kind.AGENT,
          Objects.requireNonNull(SessionKey.agentOf(entityId)),
          0,
          state.threadId(),
          kind,
          kind,
          effect.attempt(),
          cause);
    }

    @Override
    public String inAWord(ThreadInput.Result result) {
      return result instanceof ThreadInput.Failed ? Activity.End.FAILED : Activity.End.OK;
    }

    @Override
    public LogLabels labelled(ThreadEffect effect) {
      return LogLabels.on()
          .session(entityId)
          .with(LogLabels.THREAD, state.threadId())
          .with(LogLabels.ATTEMPT, String.valueOf(effect.attempt()));
    }
  }

  static Threads.Standing standing(ThreadState state, List<ThreadEffect> wanted) {
    if (wanted.stream().anyMatch(effect -> IN_TURN.contains(effect.kind()))) {
      return Threads.Standing.WORKING;
    } else if (!state.open().isEmpty() || !state.askingIn().isEmpty()) {
      return Threads.Standing.ASKING;
    }
    return state.course().running() ? Threads.Standing.WORKING : Threads.Standing.RESTING;
  }

  @Override
  void label(LogLabels labels) {
    ThreadKey key = ThreadKey.ofEntity(entityId());
    labels.with(LogLabels.THREAD, key.threadId());
  }

  @Override
  Effect<JournalRecord, ThreadState> ended(
      ThreadState state, ThreadEffect effect, ThreadInput.Result result) {
    if (result instanceof ThreadInput.Failed failed) {
      log()
          .warn(
              "Thread {} {} failed: {}",
              entityId(),
              effect.key(),
              failed.detail() == null ? failed.reason() : failed.detail());
    }
    if (effect.kind() == ThreadEffect.Kind.ERASE) {
      return erased(result);
    }
    return take(state, new ThreadInput.EffectEnded(effect, result, now()), null);
  }

  private Effect<JournalRecord, ThreadState> erased(ThreadInput.Result result) {
    erased = !(result instanceof ThreadInput.Failed);
    works = !erased;
    if (sleepy()) {
      return sleepWhenDone();
    } else if (erased) {
      offerToSleep();
    } else {
      timers.startSingleTimer(new ThreadCommand.Erase(), RECOVERS);
    }
    return Effect().none();
  }

  @Override
  Effect<JournalRecord, ThreadState> overdue(ThreadState state, ThreadEffect effect) {
    return take(
        state, new ThreadInput.EffectEnded(effect, host.program().timedOut(effect), now()), null);
  }

  @Override
  Effect<JournalRecord, ThreadState> due(ThreadState state, ThreadEffect timer) {
    return take(state, new ThreadInput.EffectDue(timer, now()), null);
  }

  // --- replies and the directory ---------------------------------------------------------------

  private void answer(ThreadState state, @Nullable ActorRef<Reply> replyTo, boolean news) {
    if (replyTo != null) {
      replyTo.tell(new Reply(state, standing, seq(), news, null));
    }
  }

  /** The directory follows a little later; only who creates a thread waits for it. */
  private void enterSoon(
      ThreadState state, List<ThreadEvent> events, @Nullable ActorRef<Reply> replyTo) {
    if (events.get(0) instanceof ThreadEvent.Created) {
      answerEntered(state, replyTo, true);
      return;
    }
    answer(state, replyTo, true);
    if (state.exists()) {
      enterIn(LAG, state);
    } else {
      entering = false;
      timers.cancel(new ThreadCommand.Enter());
    }
  }

  private void answerEntered(ThreadState state, @Nullable ActorRef<Reply> replyTo, boolean news) {
    Reply reply = new Reply(state, standing, seq(), news, null);
    enter(state)
        .whenComplete(
            (done, thrown) -> {
              if (replyTo != null) {
                replyTo.tell(reply);
              }
            });
  }

  private void enterIn(Duration time, ThreadState state) {
    if (!entering && state.exists()) {
      entering = true;
      timers.startSingleTimer(new ThreadCommand.Enter(), time);
    }
  }

  /** A thread that is deleted meanwhile is not to come back. */
  private CompletionStage<@Nullable Void> enter(ThreadState state) {
    if (!state.exists()) {
      return CompletableFuture.completedStage(null);
    }
    return host.directory()
        .put(ThreadViews.entry(entityId(), state, standing, seq(), now()))
        .whenComplete(
            (done, thrown) -> {
              if (thrown != null) {
                LOG.warn("The directory did not take {}; it follows later", entityId(), thrown);
                self().tell(new ThreadCommand.NotEntered());
              }
            });
  }

  /** Whoever wrote the journal's end may have had no time to enter it. */
  private void compareDirectory() {
    host.directory()
        .get(entityId())
        .thenAccept(
            entry ->
                self()
                    .tell(new ThreadCommand.Entered(entry.map(DirectoryEntry::seq).orElse(null))));
  }

  private void tellWaiting(Reply reply) {
    for (ThreadCommand.Look look : waiting) {
      timers.cancel(look);
      look.replyTo().tell(reply);
    }
    waiting.clear();
  }

  private void tellFeeds(ThreadState state, JournalRecord.Turn turn) {
    if (state.deleted()) {
      tellWaiting(refusal(state, unknown()));
      host.feeds().deleted(entityId(), turn.seq(), turn.at(), turn.events());
    } else {
      host.feeds().happened(entityId(), turn.seq(), turn.at(), turn.events());
    }
  }

  @Override
  void vanish(ThreadState state) {
    entering = false;
    timers.cancel(new ThreadCommand.Enter());
    tellWaiting(NOT_THERE);
  }

  // --- waking and sleeping ---------------------------------------------------------------------

  @Override
  void listens() {
    shell().sessions().tell(new Sessions.Listens(entityId(), self()));
  }

  @Override
  boolean recall(ThreadState state) {
    if (state.exists()) {
      compareDirectory();
    }
    Program.Next<ThreadEffect> next = host.program().next(state);
    works = next instanceof Program.Perform<ThreadEffect>;
    standing =
        standing(
            state,
            next instanceof Program.Perform<ThreadEffect> perform ? perform.effects() : List.of());
    boolean waits = next instanceof Program.Pause<ThreadEffect> pause && !pause.timers().isEmpty();
    return works || waits;
  }

  @Override
  Effect<JournalRecord, ThreadState> resume(ThreadState state) {
    if (state.deleted()) {
      perform(state);
      return Effect().none();
    }
    return take(state, new ThreadInput.Recovered(now()), null);
  }

  @Override
  boolean onlyWaits(ThreadEffect timer) {
    return timer.patient();
  }

  @Override
  boolean waitedFor() {
    return !waiting.isEmpty() || entering;
  }

  @Override
  boolean works(ThreadState state) {
    return works;
  }
}

package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Caller;
import io.fermata.flow.ErrorCode;
import io.fermata.flow.Event;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowProgram;
import io.fermata.flow.Input;
import io.fermata.flow.Json;
import io.fermata.flow.Outcome;
import io.fermata.flow.Program;
import io.fermata.flow.RunState;
import io.fermata.flow.StepEffect;
import io.fermata.session.Calls.Waiting;
import io.fermata.session.RunCommand.Call;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.persistence.typed.javadsl.Effect;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.jspecify.annotations.Nullable;

/**
 * The session of a flow's run: it feeds calls and results to the program, journals what happened,
 * and replies only after the journal has it all.
 *
 * <p>Between two journal writes it may be ahead of its journal: while effects that are declared
 * idempotent run, what led to them is kept in memory and written together with what follows.
 */
final class RunSession extends SessionActor<StepEffect, Input.Result, SessionState> {
  private static final Set<RunState.Status> ENDED_BY_ITSELF =
      Set.of(RunState.Status.COMPLETED, RunState.Status.FAILED);

  /** A tool's caller is told what ended its run as often as it asks. */
  private static final String END_OF_TOOL = "end";

  private final String flow;
  private final Replies replies;
  private final Calls calls;
  private final List<Event> unjournaled = new ArrayList<>();
  private final @Nullable FlowTool tool;
  private final Account account = new Account();
  private final Watch watch;
  private RunState ahead = RunState.NONE;
  private @Nullable String openCall;
  private boolean resultsUnjournaled;

  /** What the call was part of that led to what the run is at. */
  private TraceContext cause = TraceContext.NONE;

  private RunSession(
      String entityId,
      Shell shell,
      ActorContext<SessionCommand> context,
      TimerScheduler<SessionCommand> timers) {
    super(entityId, shell, context, timers);
    this.flow = SessionKey.flowOf(entityId);
    this.replies = new Replies(flow, shell.catalog());
    this.tool = shell.catalog().tool(flow);
    this.watch = new Watch(entityId, shell.audience());
    this.calls = new Calls(shell.settings().waitingCalls());
  }

  static Behavior<SessionCommand> create(String entityId, Shell shell) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(timers -> new RunSession(entityId, shell, context, timers)));
  }

  @Override
  public SessionState emptyState() {
    return SessionState.EMPTY;
  }

  @Override
  public EventHandler<SessionState, JournalRecord> eventHandler() {
    return (state, entry) -> {
      if (tool != null) {
        account.add(entry);
      }
      SessionState after = state.apply(entry);
      keepSecret(state.run(), after.run());
      return after;
    };
  }

  /** Another version of the flow may mark fields that the state has had all along. */
  private void keepSecret(RunState before, RunState after) {
    if (before.version() != after.version()) {
      keepSecret(after);
    }
  }

  /** The runs of a tool are short, and the account of one is told from its beginning. */
  @Override
  boolean keepsSnapshots() {
    return tool == null;
  }

  /** The region answers for it. */
  @Override
  void vanish(SessionState state) {}

  @Override
  void label(LogLabels labels) {
    labels.with(LogLabels.RUN, ahead.runId());
  }

  @Override
  Class<SessionState> fold() {
    return SessionState.class;
  }

  @Override
  void refuse(SessionCommand command, Outcome.Failure why) {
    if (command instanceof RunCommand.Call call) {
      tell(call, replies.of(why, RunState.NONE, 0));
    }
  }

  @Override
  Effect<JournalRecord, SessionState> hear(SessionState state, SessionCommand command) {
    if (command instanceof RunCommand.Call call) {
      return call(state, call);
    } else if (command instanceof RunCommand.Told told) {
      return told(told);
    } else if (command instanceof RunCommand.Next) {
      return next(state);
    }
    return deadlinePassed(state, (RunCommand.DeadlinePassed) command);
  }

  // --- calls ----------------------------------------------------------------------------------

  private Effect<JournalRecord, SessionState> call(SessionState state, Call call) {
    if (call.action() == Action.STATUS) {
      String runId = call.runId();
      tell(
          call,
          runId == null
              ? replies.status(state, seq(), now())
              : replies.task(state, runId, seq(), now(), retention()));
      return Effect().none();
    }
    JournalRecord.Reply known = known(state, call);
    if (known != null) {
      tell(call, known);
      return Effect().none();
    }
    if (calls.joins(call)) {
      return Effect().none();
    }
    boolean ends = call.action() == Action.CANCEL && state.run().running() && !stale(call);
    if (ends && resuming()) {
      self().tell(call);
      return Effect().none();
    }
    if (ends && !idleNow(state)) {
      return cancelNow(state, call);
    }
    if (call.action() == Action.SIGNAL && letsIn()) {
      return letIn(state, new Waiting(call));
    }
    if (idleNow(state) || meanwhile(call)) {
      return begin(state, new Waiting(call));
    }
    if (calls.current() == null && (call.asksAgain() || resumes(state, call))) {
      calls.drive(new Waiting(call));
    } else if (!calls.enqueue(call)) {
      tell(call, replies.of(HostError.BUSY.failure(), state.run(), seq()));
    }
    return Effect().none();
  }

  /** What a call is told that was handled before. */
  private JournalRecord.@Nullable Reply known(SessionState state, Call call) {
    JournalRecord.Reply recorded = state.recorded(call.callId());
    if (recorded != null) {
      return recorded;
    }
    boolean past = call.callId() != null && state.past().contains(call.callId());
    if (tool != null && (past || call.asksAgain()) && state.last() != null) {
      return state.last();
    }
    Outcome untold = state.untold();
    if (tool != null && past && untold != null) {
      // Its session has no other run: what that came to is what the call came to.
      return replies.of(untold, state.run(), seq());
    }
    if (past) {
      return replies.of(Outcome.Failure.of(ErrorCode.RUN_COMPLETED), state.run(), seq());
    }
    return null;
  }

  /** Whether a call speaks of a run that was before, or of a state that it has left behind. */
  private boolean stale(Call call) {
    boolean ofAnother = call.runId() != null && !call.runId().equals(ahead.runId());
    return ofAnother
        || (call.expectedSeq() != null && call.expectedSeq() != seq())
        || (call.asked() != null && !call.asked().by(ahead));
  }

  /** Whether a call has answers for the run while other branches of it are at work. */
  private boolean meanwhile(Call call) {
    return call.action() == Action.CONTINUE
        && !call.updates().isEmpty()
        && Standstill.asks(ahead)
        && calls.none()
        && letsIn();
  }

  /** Whether something can come in between: not before what called earlier and still waits. */
  private boolean letsIn() {
    boolean first = calls.none() || calls.current() != null;
    return first && unjournaled.isEmpty() && !resuming();
  }

  /** Lets a signal in; a call that waits for work or time hears what comes of both. */
  private Effect<JournalRecord, SessionState> letIn(SessionState state, Waiting signal) {
    Waiting held = calls.release();
    signal.hasty = Standstill.works(ahead);
    Effect<JournalRecord, SessionState> effect = begin(state, signal);
    if (calls.current() == signal) {
      signal.held = held;
    } else if (held != null) {
      calls.drive(held);
    }
    return effect;
  }

  /** Whether a call repeats the one whose work is going on without a listener. */
  private static boolean resumes(SessionState state, Call call) {
    return call.callId() != null && call.callId().equals(state.openCall());
  }

  private Effect<JournalRecord, SessionState> begin(SessionState state, Waiting waiting) {
    Call call = waiting.call;
    calls.drive(waiting);
    openCall = null;
    cause = call.trace();
    JournalRecord.Reply known = known(state, call);
    if (known != null) {
      return answer(known);
    }
    if (stale(call)) {
      return answer(replies.withOpen(HostError.STALE_CALL.failure(), state.run(), seq()));
    }
    Outcome untold = state.untold();
    if (untold != null && call.action() == Action.CONTINUE) {
      return fetch(state, untold);
    }
    if (call.signal() != null && !call.signal().runId().equals(state.run().runId())) {
      return answer(replies.of(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN), RunState.NONE, 0));
    }
    Program.Acceptance<Event> taken = call.action() == Action.START ? null : takenOver(state);
    if (taken instanceof Program.Accepted<Event> accepted) {
      calls.putBack(waiting);
      return carriedOver(state, accepted.events());
    }
    if (call.action() == Action.CANCEL) {
      return cancel(state, input(call));
    }
    if (taken instanceof Program.Refused<Event> refused) {
      return answer(unfit(state, refused.failure()));
    }
    if (call.action() == Action.START && !state.run().running() && beyond(call)) {
      return answer(replies.of(tooMany(), RunState.NONE, 0));
    }
    Optional<FlowProgram<?>> program = program(state.run(), call.action());
    if (program.isEmpty()) {
      return answer(replies.withOpen(replies.versionChanged(state.run()), state.run(), seq()));
    }
    return accept(state, program.get(), input(call));
  }

  /**
   * Whether a client has as many runs as it may; schedules and threads have bounds of their own.
   */
  private boolean beyond(Call call) {
    SessionKey key = call.key();
    return key != null
        && !key.principal().equals(Schedule.PRINCIPAL)
        && !key.principal().equals(ToolUses.PRINCIPAL)
        && shell().tally().full(key.principal());
  }

  private Outcome.Failure tooMany() {
    return HostError.TOO_MANY_RUNS.failure(
        HostError.TOO_MANY_RUNS.cause() + ": " + shell().tally().most());
  }

  private Input input(Call call) {
    long now = now();
    if (call.resolution() != null && call.action() == Action.CONTINUE) {
      return new Input.Resolve(call.resolution(), now);
    }
    RunCommand.Signal signal = call.signal();
    if (signal != null) {
      return new Input.Signal(signal.name(), signal.payload(), now);
    }
    return switch (call.action()) {
      case START ->
          new Input.Start(SessionKey.newRunId(entityId()), call.intent(), call.updates(), now);
      case RESET -> new Input.Reset(call.updates(), now);
      case CANCEL -> new Input.Cancel(now);
      case CONTINUE, STATUS, SIGNAL -> new Input.Continue(call.updates(), now);
    };
  }

  /** A cancellation does not wait for the work that it ends. */
  private Effect<JournalRecord, SessionState> cancelNow(SessionState state, Call call) {
    Waiting cancelling = new Waiting(call);
    Waiting driven = calls.release();
    if (driven != null) {
      cancelling.displace(driven);
    }
    calls.drive(cancelling);
    openCall = null;
    cause = call.trace();
    return cancel(state, input(call));
  }

  /** What a run did can be undone only by the flow that did it. */
  private Effect<JournalRecord, SessionState> cancel(SessionState state, Input input) {
    Optional<FlowProgram<?>> own = shell().catalog().of(flow, state.run());
    if (own.isPresent() || !state.run().running()) {
      return accept(state, own.orElse(shell().catalog().newest(flow)), input);
    }
    if (!state.run().done().isEmpty() || state.run().ending() != null) {
      return answer(replies.withOpen(replies.versionChanged(state.run()), state.run(), seq()));
    }
    List<Event> cancelled = List.of(new Event.Cancelled(input.at()));
    return happened(state, shell().catalog().newest(flow), input.at(), cancelled);
  }

  private Effect<JournalRecord, SessionState> fetch(SessionState state, Outcome untold) {
    JournalRecord.Reply reply = replies.of(untold, state.run(), seq() + 1);
    Runnable appended = appending(1);
    return Effect()
        .persist(ended(state, reply, new Outcome.Complete(null)))
        .thenRun(
            () -> {
              appended.run();
              answered(reply);
            });
  }

  private Effect<JournalRecord, SessionState> next(SessionState state) {
    if (calls.current() != null || Standstill.works(ahead) || resuming()) {
      return Effect().none();
    }
    Waiting waiting = calls.poll();
    if (waiting != null) {
      return begin(state, waiting);
    }
    return sleepy() ? sleepWhenDone() : Effect().none();
  }

  private Effect<JournalRecord, SessionState> deadlinePassed(
      SessionState state, RunCommand.DeadlinePassed passed) {
    Waiting current = calls.current();
    if (current != null && current.listeners().stream().anyMatch(c -> c.id() == passed.id())) {
      return stopWaiting(state, current);
    }
    Waiting withdrawn = calls.withdraw(passed.id());
    if (withdrawn != null) {
      Outcome.Failure why =
          withdrawn.call.asksAgain() && !becomesTask(state, withdrawn)
              ? HostError.STILL_WORKING.failure()
              : HostError.BUSY.failure(
                  "The call waited behind others until its deadline and was not handled");
      tellAll(withdrawn, replies.of(why, state.run(), seq()));
    }
    return Effect().none();
  }

  /** The work goes on without the call; what the reply speaks of is journaled first. */
  private Effect<JournalRecord, SessionState> stopWaiting(SessionState state, Waiting current) {
    List<JournalRecord> entries =
        new ArrayList<>(unjournaled.isEmpty() ? List.of() : working(state));
    boolean task = becomesTask(state, current);
    long seq = seq() + entries.size() + (task ? 1 : 0);
    JournalRecord.Reply reply = replies.stillWorking(ahead, seq, current.takesTasks());
    if (task) {
      entries.add(mark(reply, true, null));
    }
    return write(
        state,
        entries,
        true,
        () -> {
          calls.release();
          tellAll(current, reply);
        });
  }

  // --- the program ----------------------------------------------------------------------------

  /** What comes of carrying a run over to a newer version; null if it need not, or nothing can. */
  private Program.@Nullable Acceptance<Event> takenOver(SessionState state) {
    if (!state.run().running() || shell().catalog().of(flow, state.run()).isPresent()) {
      return null;
    }
    return shell()
        .catalog()
        .takingOver(flow, state.run())
        .map(program -> program.migrate(state.run(), now()))
        .orElse(null);
  }

  /** The run goes on in the version that it was carried over to; then the calls are heard. */
  private Effect<JournalRecord, SessionState> carriedOver(SessionState state, List<Event> events) {
    RunState after = state.run().apply(events);
    log().info("Run {} is on version {} from now on", after.runId(), after.version());
    FlowProgram<?> program = shell().catalog().of(flow, after).orElseThrow();
    return happened(state, program, now(), events);
  }

  private JournalRecord.Reply unfit(SessionState state, Outcome.Failure failure) {
    log().warn("Run {}: {}", state.run().runId(), masked(failure.message()));
    return replies.of(failure, state.run(), seq());
  }

  private Optional<FlowProgram<?>> program(RunState run, @Nullable Action action) {
    boolean pinned = run.running() && action != Action.START;
    return pinned ? shell().catalog().of(flow, run) : Optional.of(shell().catalog().newest(flow));
  }

  private Effect<JournalRecord, SessionState> accept(
      SessionState state, FlowProgram<?> program, Input input) {
    Program.Acceptance<Event> acceptance = program.accept(ahead, input);
    if (acceptance instanceof Program.Refused<Event> refused) {
      return answer(replies.of(refused.failure(), state.run(), seq()));
    }
    List<Event> events = ((Program.Accepted<Event>) acceptance).events();
    return happened(state, program, input.at(), events);
  }

  private Effect<JournalRecord, SessionState> happened(
      SessionState state, FlowProgram<?> program, long at, List<Event> events) {
    ahead = ahead.apply(events);
    unjournaled.addAll(events);
    Waiting current = calls.current();
    if (current != null) {
      events.forEach(event -> current.visit(event, at));
    }
    return goOn(state, program, events.isEmpty());
  }

  private Effect<JournalRecord, SessionState> goOn(
      SessionState state, FlowProgram<?> program, boolean nothingNew) {
    Program.Next<StepEffect> next = program.next(ahead);
    if (next instanceof Program.Perform<StepEffect> perform) {
      return perform(state, program, perform.effects());
    } else if (next instanceof Program.Pause<StepEffect> pause) {
      if (calls.current() != null && goesOnSoon(pause)) {
        return perform(state, program, pause.timers());
      }
      if (stoppedAlone(pause.outcome())) {
        return accept(state, program, new Input.Continue(Json.object(), now()));
      }
      Outcome outcome = nothingNew ? program.now(ahead) : pause.outcome();
      return settle(state, program, outcome, pause.timers());
    }
    return settle(state, program, told(((Program.Finish<StepEffect>) next).outcome()), List.of());
  }

  /** The caller of a tool is told what the tool makes of the run. */
  private Outcome told(Outcome outcome) {
    if (tool == null || !(outcome instanceof Outcome.Complete complete)) {
      return outcome;
    }
    FlowTool.Finished finished =
        new FlowTool.Finished(
            ahead.data().deepCopy(),
            complete.result(),
            account.narrative(tool.flow(), unjournaled, now()));
    ObjectNode mapped = tool.mapped(finished);
    List<JsonNode> changes = account.changesOfCaller(unjournaled);
    if (!mapped.path("error").asBoolean() && !changes.isEmpty()) {
      changes.forEach(mapped.putArray("changes")::add);
    }
    return new Outcome.Complete(mapped, complete.reason());
  }

  /** Whether a run stopped to let its caller go on, and there is none. */
  private boolean stoppedAlone(Outcome outcome) {
    Waiting current = calls.current();
    return (current == null || !current.callsAgain())
        && outcome instanceof Outcome.Failure failure
        && failure.code().equals(ErrorCode.VISIT_LIMIT.wireName());
  }

  /** Whether a call can as well wait for what the run waits for. */
  private boolean goesOnSoon(Program.Pause<StepEffect> pause) {
    Long until = pause.until();
    long patience = shell().settings().callDeadline().toMillis() / 2;
    return until != null && until - now() < patience;
  }

  private Effect<JournalRecord, SessionState> perform(
      SessionState state, FlowProgram<?> program, List<StepEffect> wanted) {
    List<StepEffect> fresh = retain(wanted);
    boolean quick =
        fresh.stream()
            .filter(e -> !Standstill.onlyWaits(e))
            .allMatch(e -> e.policy().idempotent() && !e.timer());
    boolean early = quick && !fresh.isEmpty() && !resultsUnjournaled;
    Waiting current = calls.current();
    if (current != null && current.hasty) {
      return acknowledge(state, program, current, fresh);
    }
    List<JournalRecord> entries = unjournaled.isEmpty() || early ? List.of() : working(state);
    return write(state, entries, true, () -> start(program, fresh));
  }

  /**
   * The sender of a signal need not wait for work that was under way before, nor somebody who takes
   * a task for any.
   */
  private Effect<JournalRecord, SessionState> acknowledge(
      SessionState state, FlowProgram<?> program, Waiting hasty, List<StepEffect> fresh) {
    List<JournalRecord> entries = new ArrayList<>(abandoned(state));
    boolean news = !unjournaled.isEmpty();
    boolean task = becomesTask(state, hasty);
    long seq = seq() + entries.size() + (news ? 1 : 0) + (task ? 1 : 0);
    JournalRecord.Reply reply = replies.stillWorking(ahead, seq, hasty.takesTasks());
    if (news) {
      entries.add(step(reply, true, null));
    }
    if (task) {
      entries.add(mark(reply, true, null));
    }
    return write(
        state,
        entries,
        true,
        () -> {
          Waiting held = hasty.letGo();
          openCall = null;
          start(program, fresh);
          answered(reply);
          if (held != null) {
            calls.drive(held);
          }
        });
  }

  /** Starts what a run that stands still has going on beside: timers, and reminders. */
  private void startBeside(FlowProgram<?> program, List<StepEffect> wanted) {
    start(program, retain(wanted));
  }

  private void start(FlowProgram<?> program, List<StepEffect> fresh) {
    start(fresh, new StepPerformer(program, ahead, self(), callers(), entityId(), cause));
  }

  /** Whom a step meets as the caller of its flow. */
  private Function<StepEffect, Caller> callers() {
    ToolUse use = use();
    if (use == null) {
      return effect -> Caller.NONE;
    }
    List<JsonNode> before = account.changesOfCaller(unjournaled);
    return effect -> new ThreadCaller(shell().agents(), use, effect, before);
  }

  /** The thread's call that the run is about; null if it is about none. */
  private @Nullable ToolUse use() {
    if (tool == null) {
      return null;
    }
    JournalRecord.Origin origin = account.origin();
    Waiting current = calls.current();
    SessionKey key = current == null ? null : current.call.key();
    String session = origin != null ? origin.session() : key != null ? key.session() : null;
    return session == null || ToolUse.caller(session) == null ? null : ToolUse.of(flow, session);
  }

  /** The program waits or has finished: journal everything, then reply. */
  private Effect<JournalRecord, SessionState> settle(
      SessionState state, FlowProgram<?> program, Outcome outcome, List<StepEffect> beside) {
    Waiting current = calls.current();
    boolean reminding = beside.stream().anyMatch(effect -> !effect.timer());
    boolean ended = !ahead.running();
    List<JournalRecord> entries = new ArrayList<>(abandoned(state));
    boolean news = !unjournaled.isEmpty();
    boolean takes = current != null && waits(outcome) && current.takesTasks();
    boolean task = takes && !state.isTask(ahead.runId());
    int records = (news ? entries.size() + (ended ? 2 : 1) : 0) + (task ? 1 : 0);
    JournalRecord.Reply reply =
        Replies.asTask(
            replies.of(
                body(outcome, current),
                ahead,
                current == null ? List.of() : current.visited(),
                seq() + records),
            takes);
    if (news) {
      entries.add(step(ended ? null : reply, reminding, Standstill.wakeAt(beside)));
    }
    if (news && ended) {
      entries.add(ended(state, reply, outcome));
    }
    if (task) {
      entries.add(mark(reply, reminding, Standstill.wakeAt(beside)));
    }
    return write(
        state,
        entries,
        false,
        () -> {
          startBeside(program, beside);
          answered(reply);
        });
  }

  /** Journals the entries, if there are any, and only then goes on. */
  private Effect<JournalRecord, SessionState> write(
      SessionState state, List<JournalRecord> entries, boolean working, Runnable then) {
    if (entries.isEmpty()) {
      then.run();
      return Effect().none();
    }
    keepSecret(state.run(), ahead);
    Runnable appended = appending(entries.size());
    return Effect()
        .persist(entries)
        .thenRun(
            (SessionState after) -> {
              appended.run();
              RunChanges.tell(flow, entries, shell().telemetry());
              watched(state.run(), entries);
              entered(state, entries, after);
              journaled(working);
              then.run();
              shell().watches().changed(entityId());
            });
  }

  private ObjectNode body(Outcome outcome, @Nullable Waiting current) {
    boolean cancelled = ahead.status() == RunState.Status.CANCELLED;
    if (cancelled && current != null && current.call.action() == Action.CANCEL) {
      return Replies.cancelled();
    }
    return Wire.body(outcome);
  }

  // --- effects --------------------------------------------------------------------------------

  @Override
  Effect<JournalRecord, SessionState> ended(
      SessionState state, StepEffect effect, Input.Result result) {
    resultsUnjournaled |= !effect.policy().idempotent();
    if (result instanceof Input.Failed failed) {
      log()
          .warn(
              "Run {} step {} attempt {} failed: {}",
              ahead.runId(),
              effect.place(),
              effect.attempt(),
              masked(failed.detail()));
    }
    return feed(state, new Input.EffectEnded(effect, result, now()));
  }

  @Override
  Effect<JournalRecord, SessionState> overdue(SessionState state, StepEffect effect) {
    Input.Failed late = shell().catalog().newest(flow).timedOut(effect);
    return feed(state, new Input.EffectEnded(effect, late, now()));
  }

  @Override
  Effect<JournalRecord, SessionState> due(SessionState state, StepEffect timer) {
    return feed(state, new Input.EffectDue(timer, now()));
  }

  private Effect<JournalRecord, SessionState> feed(SessionState state, Input input) {
    FlowProgram<?> program =
        program(ahead, null)
            .orElseThrow(
                () -> new IllegalStateException("An effect of a flow that is not registered"));
    return accept(state, program, input);
  }

  // --- waking and sleeping --------------------------------------------------------------------

  @Override
  boolean recall(SessionState state) {
    ahead = state.run();
    openCall = state.openCall();
    return Standstill.hasWork(ahead)
        || program(ahead, null).filter(program -> program.expiresAt(ahead) != null).isPresent();
  }

  @Override
  Effect<JournalRecord, SessionState> resume(SessionState state) {
    Program.Acceptance<Event> taken = takenOver(state);
    if (taken instanceof Program.Accepted<Event> accepted) {
      return carriedOver(state, accepted.events());
    } else if (taken instanceof Program.Refused<Event> refused) {
      return answer(unfit(state, refused.failure()));
    }
    Optional<FlowProgram<?>> program = program(ahead, null);
    if (program.isEmpty()) {
      Outcome.Failure changed = replies.versionChanged(ahead);
      log().warn("Run {}: {}", ahead.runId(), changed.message());
      return answer(replies.withOpen(changed, state.run(), seq()));
    }
    return accept(state, program.get(), new Input.Recovered(now()));
  }

  @Override
  boolean onlyWaits(StepEffect timer) {
    return Standstill.onlyWaits(timer);
  }

  @Override
  boolean waitedFor() {
    return !calls.none();
  }

  @Override
  boolean works(SessionState state) {
    return Standstill.works(ahead);
  }

  private Effect<JournalRecord, SessionState> told(RunCommand.Told told) {
    Waiting current = calls.current();
    if (current != null && underWay(told.effect())) {
      current
          .listeners()
          .forEach(
              call ->
                  call.replyTo().tell(new RunCommand.SessionProgress(call.id(), told.progress())));
    }
    return Effect().none();
  }

  // --- records and replies --------------------------------------------------------------------

  private JournalRecord step(
      JournalRecord.@Nullable Reply reply, boolean working, @Nullable Long wakeAt) {
    Waiting current = calls.current();
    boolean starts = unjournaled.stream().anyMatch(Event.Started.class::isInstance);
    SessionKey key = starts && current != null ? current.call.key() : null;
    JournalRecord.Origin origin =
        key == null ? null : new JournalRecord.Origin(key.principal(), key.session());
    String callId = callId();
    return new JournalRecord.Step(
        now(),
        origin,
        callId,
        callId == null ? null : reply,
        working,
        wakeAt,
        List.copyOf(unjournaled));
  }

  /** Whether somebody takes the run for a task now, and the journal does not say so yet. */
  private boolean becomesTask(SessionState state, Waiting waiting) {
    return waiting.takesTasks() && !state.isTask(ahead.runId());
  }

  /** Whether a run goes on by itself, at some time or when something happens. */
  private static boolean waits(Outcome outcome) {
    return outcome instanceof Outcome.Failure failure
        && failure.code().equals(ErrorCode.WAITING.wireName());
  }

  /** Says in the journal that the run was handed out as a task. */
  private JournalRecord mark(JournalRecord.Reply reply, boolean working, @Nullable Long wakeAt) {
    return new JournalRecord.Step(
        now(), null, SessionState.TASK, reply, working, wakeAt, List.of());
  }

  /** What is not journaled yet, while effects are outstanding. */
  private List<JournalRecord> working(SessionState state) {
    List<JournalRecord> entries = new ArrayList<>(abandoned(state));
    entries.add(step(null, true, null));
    return entries;
  }

  /** The end of a run that another one replaces, for the sweep of what it has left. */
  private List<JournalRecord> abandoned(SessionState state) {
    if (unjournaled.isEmpty() || !(unjournaled.get(0) instanceof Event.Abandoned)) {
      return List.of();
    }
    boolean task = state.isTask(state.run().runId());
    return List.of(
        new JournalRecord.Ended(
            now(),
            state.run().runId(),
            state.run().version(),
            RunState.Status.ABANDONED,
            task ? SessionState.END_OF_TASK : null,
            task ? replies.cancelled(state.run(), seq() + 1) : null,
            state.callsExcept(null),
            false,
            null,
            null,
            retention().keptUntil(now()),
            knownUntil(state, task),
            task,
            state.tasksAt(now())));
  }

  /** What is still told of earlier tasks is in the record of the latest end. */
  private long knownUntil(SessionState state, boolean task) {
    long own = task ? retention().taskKnownUntil(now()) : retention().knownUntil(now());
    List<JournalRecord.TaskEnd> earlier = state.tasksAt(now());
    return earlier == null
        ? own
        : earlier.stream().mapToLong(JournalRecord.TaskEnd::keptUntil).reduce(own, Math::max);
  }

  private Retention retention() {
    return shell().retentions().of(flow);
  }

  private JournalRecord ended(SessionState state, JournalRecord.Reply reply, Outcome outcome) {
    String callId = callId();
    Waiting current = calls.current();
    boolean heard = current != null && current.fromClient();
    boolean task = state.isTask(ahead.runId());
    if (task && callId == null) {
      callId = SessionState.END_OF_TASK;
    } else if (tool != null && heard && callId == null) {
      callId = END_OF_TOOL;
    }
    boolean unheard = !heard && ENDED_BY_ITSELF.contains(ahead.status());
    return new JournalRecord.Ended(
        now(),
        ahead.runId(),
        ahead.version(),
        ahead.status(),
        callId,
        callId == null ? null : reply,
        state.callsExcept(callId),
        unheard,
        unheard && outcome instanceof Outcome.Complete complete ? complete.result() : null,
        unheard ? ahead.reason() : null,
        retention().keptUntil(now()),
        knownUntil(state, task),
        task,
        state.tasksAt(now()));
  }

  /** The name of the call that what is going on belongs to, even if another waits for it now. */
  private @Nullable String callId() {
    Waiting current = calls.current();
    return openCall != null || current == null ? openCall : current.callId();
  }

  /** Lets recorders hear what the journal now has. */
  private void watched(RunState before, List<JournalRecord> entries) {
    if (shell().audience().isEmpty()) {
      return;
    }
    Flow<?> by = shell().catalog().telling(flow, ahead);
    for (int i = 0; i < entries.size(); i++) {
      if (entries.get(i) instanceof JournalRecord.Step step) {
        long seq = seq() - entries.size() + i + 1;
        watch.tell(by, before, seq, step.at(), step.events());
      }
    }
  }

  private void journaled(boolean working) {
    openCall = working ? callId() : null;
    resultsUnjournaled = false;
    unjournaled.clear();
    if (!ahead.running()) {
      ahead = RunState.ended(ahead.status(), ahead.runId(), ahead.version(), ahead.changedAt());
    }
  }

  /** Lets the directory follow; before the run that ended is forgotten. */
  private void entered(SessionState before, List<JournalRecord> entries, SessionState after) {
    JournalRecord.Origin origin = before.origin();
    long seq = seq() - entries.size();
    for (JournalRecord entry : entries) {
      seq++;
      if (entry instanceof JournalRecord.Step step && step.origin() != null) {
        origin = step.origin();
      } else if (entry instanceof JournalRecord.Ended ended) {
        RunState last = ended.status() == RunState.Status.ABANDONED ? before.run() : ahead;
        shell().ledger().ended(new RunRow(flow, ended.last(last), origin, seq), ended.keptUntil());
        if (origin != null && before.run().runId().equals(ended.runId())) {
          shell().tally().ended(origin.principal());
        }
      }
    }
    if (after.run().running()) {
      boolean begins = !after.run().runId().equals(before.run().runId());
      shell().ledger().stands(new RunRow(flow, after.run(), after.origin(), seq), begins);
      if (begins && after.origin() != null) {
        shell().tally().began(after.origin().principal());
      }
    }
  }

  private Effect<JournalRecord, SessionState> answer(JournalRecord.Reply reply) {
    answered(reply);
    return Effect().none();
  }

  private void answered(JournalRecord.Reply reply) {
    Waiting waiting = calls.release();
    if (waiting != null) {
      tellAll(waiting, reply);
    }
    if (!calls.none() || sleepy()) {
      self().tell(new RunCommand.Next());
    } else if (!ahead.running()) {
      offerToSleep();
    }
  }

  private void tellAll(Waiting waiting, JournalRecord.Reply reply) {
    waiting.listeners().forEach(call -> tell(call, reply));
    if (!waiting.displaced.isEmpty()) {
      Outcome.Failure cancelled = Outcome.Failure.of(ErrorCode.RUN_CANCELLED);
      JournalRecord.Reply ended = ahead.running() ? reply : replies.of(cancelled, ahead, seq());
      waiting.displaced.forEach(call -> tell(call, call.action() == Action.CANCEL ? reply : ended));
    }
  }

  private void tell(Call call, JournalRecord.Reply reply) {
    call.replyTo().tell(new RunCommand.SessionReply(call.id(), reply));
  }
}

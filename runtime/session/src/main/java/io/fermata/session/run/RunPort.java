package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.World;
import io.fermata.flow.action.Caller;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.RunEvents;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.Effects;
import io.fermata.session.actor.SessionCommand.Call;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.actor.SessionPort;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Schedule;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.RunPhases;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.HostError;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.runs.RunRow;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The runs of a flow, one at a time in each session. */
public final class RunPort
    implements SessionPort<RunState, Input, Event, StepEffect, Input.Result, World> {
  private static final Request.OfRun LOOK =
      Request.OfRun.of(CallAction.CONTINUE, Json.object(), null);

  /** How many nodes a line of the log names. */
  private static final int MOST_NODES = 10;

  private final Handle session;
  private final SessionHost host;
  private final String flow;
  private final RunReplies replies;
  private final RunEntries entries;
  private final boolean isTool;
  private final RunNarrative narrative = new RunNarrative();
  private final RecorderFeed recorders;

  public RunPort(Handle session) {
    this.session = session;
    this.host = session.host();
    this.flow = SessionKey.flowOf(session.entityId());
    this.replies = new RunReplies(flow, host.catalog());
    this.isTool = host.catalog().isTool(flow);
    this.entries = new RunEntries(replies, host.retentions().of(flow), isTool);
    this.recorders = new RecorderFeed(session.entityId(), host.observers().recorders());
  }

  // --- the program ----------------------------------------------------------------------------

  @Override
  public @Nullable FlowProgram<?> program(RunState run) {
    return run.running() ? host.catalog().of(flow, run).orElse(null) : newest();
  }

  @Override
  public FlowProgram<?> newest() {
    return host.catalog().newest(flow);
  }

  @Override
  public FlowProgram<?> programFor(RunState run, Input input) {
    FlowProgram<?> own = input instanceof Input.Start ? null : program(run);
    return own == null ? newest() : own;
  }

  @Override
  public RunState ended(Entry<Event> entry) {
    return Objects.requireNonNull(entry.end()).state(entry.at());
  }

  @Override
  public String decider(List<Event> events) {
    Set<String> nodes = new LinkedHashSet<>();
    for (Event event : events) {
      Place place = event.place();
      if (place != null && !place.node().equals(Place.START) && nodes.size() < MOST_NODES) {
        nodes.add(place.undone().node());
      }
    }
    return "flow " + flow + (nodes.isEmpty() ? "" : " at " + String.join(", ", nodes));
  }

  @Override
  public String mayBlock() {
    return "act(…) or validateAsync(…)";
  }

  @Override
  public boolean runsAhead() {
    return true;
  }

  @Override
  public boolean onlyWaits(StepEffect timer) {
    return RunPhases.onlyWaits(timer);
  }

  @Override
  public boolean works(RunState run) {
    return run.works();
  }

  @Override
  public boolean over(RunState run) {
    return !run.running();
  }

  // --- calls ----------------------------------------------------------------------------------

  private static Request.OfRun request(Call call) {
    return (Request.OfRun) call.request();
  }

  @Override
  public @Nullable SessionReply known(Situation<RunState, Event> at, Call call) {
    Request.OfRun request = request(call);
    SessionState<RunState> state = at.state();
    Outcome.Failure refusal = request.refusal();
    if (refusal != null) {
      return replies.withOpen(refusal, state.program(), at.seq());
    } else if (request.action() == CallAction.STATUS) {
      String runId = request.runId();
      return runId == null
          ? replies.status(state, at.seq(), at.now())
          : replies.task(state, runId, at.seq(), at.now(), host.retentions().of(flow));
    }
    CallLog calls = state.calls().at(at.now());
    if (calls.contradicts(call.callId())) {
      return replies.withOpen(HostError.KEY_USED.failure(), state.program(), at.seq());
    }
    RunReply recorded = calls.recorded(call.callId());
    if (recorded != null) {
      return request.action() == CallAction.CANCEL ? RunReplies.toCanceller(recorded) : recorded;
    }
    if (call.mode() == ReplyMode.STARTS && at.isOpen(call)) {
      return replies.stillWorking(state.program(), at.seq(), false);
    }
    if (fetches(call)) {
      RunReply asked = replies.asked(state, at.seq(), at.now());
      if (asked != null) {
        return asked;
      }
    }
    boolean past = calls.isPast(call.callId());
    if (isTool && (past || request.asksAgain()) && state.lastReply() != null) {
      return state.lastReply();
    }
    Outcome unclaimed = state.unclaimed();
    if (isTool && past && unclaimed != null) {
      // The session of a tool has one run, whose outcome is that of the call.
      return replies.of(unclaimed, state.program(), at.seq());
    }
    if (past && state.program().running()) {
      return replies.withOpen(HostError.STALE_CALL.failure(), state.program(), at.seq());
    }
    if (past
        && request.action() == CallAction.CANCEL
        && state.program().status() == RunState.Status.CANCELLED) {
      return replies.cancelled(state.program(), at.seq());
    }
    // It may be a call of an earlier run, whose result and end are not known any more.
    return past
        ? replies.of(Outcome.Failure.of(ended(state.program().status())), state.program(), at.seq())
        : null;
  }

  /**
   * Whether a caller of a tool only wants its outcome. The reply may have been lost: unlike an
   * answer, which its sender named, the call passes nothing.
   */
  private boolean fetches(Call call) {
    return isTool && request(call).asksAgain() && !CallLog.isNamed(call.callId());
  }

  private static ErrorCode ended(RunState.Status status) {
    return switch (status) {
      case CANCELLED -> ErrorCode.RUN_CANCELLED;
      case EXPIRED -> ErrorCode.RUN_EXPIRED;
      case FAILED -> ErrorCode.RUN_FAILED;
      default -> ErrorCode.RUN_COMPLETED;
    };
  }

  @Override
  public boolean interrupts(Situation<RunState, Event> at, Call call) {
    return request(call).action() == CallAction.CANCEL && at.ahead().running() && !stale(at, call);
  }

  @Override
  public boolean journalsCalls(Situation<RunState, Event> at) {
    return RunEntries.hasUnknown(at, at.callIds());
  }

  @Override
  public boolean answersMeanwhile(Situation<RunState, Event> at, Call call) {
    Request.OfRun request = request(call);
    return request.action() == CallAction.CONTINUE
        && !request.updates().isEmpty()
        && RunPhases.asks(at.ahead());
  }

  /** Whether the precondition of a call does not hold. */
  private static boolean stale(Situation<RunState, Event> at, Call call) {
    Request.Only only = request(call).only();
    return only != null
        && ((only.runId() != null && !only.runId().equals(at.ahead().runId()))
            || (only.seq() != null && only.seq() != at.seq())
            || (only.asked() != null && !only.asked().by(at.ahead())));
  }

  @Override
  public Admission<Input, Event> admit(Situation<RunState, Event> at, Call call) {
    // A repeated call looks for the outcome of what it has caused.
    boolean repeats = at.isOpen(call);
    Request.OfRun request = repeats ? LOOK : request(call);
    RunState run = at.state().program();
    if (!repeats && stale(at, call)) {
      return answer(replies.withOpen(HostError.STALE_CALL.failure(), run, at.seq()));
    }
    Request.Fork fork = request.fork();
    if (fork != null) {
      return fork(call, fork, at.now());
    }
    Outcome unclaimed = at.state().unclaimed();
    if (unclaimed != null && request.action() == CallAction.CONTINUE && !operated(call)) {
      return new Write<>(entries.claimed(at, unclaimed));
    }
    Request.Signal signal = request.signal();
    if (signal != null && !signal.runId().equals(run.runId())) {
      return answer(replies.of(RunReplies.noRun(flow, signal.runId()), RunState.NONE, 0));
    }
    Program.Acceptance<RunState, Event> migrated =
        switch (request.action()) {
          case START -> null;
          // A run whose time is over need not continue to be ended.
          case CANCEL -> migrated(run, heir -> heir.takeOver(run, at.now()));
          default -> migrated(run, heir -> heir.migrate(run, at.now()));
        };
    if (migrated instanceof Program.Accepted<RunState, Event> accepted) {
      return migrate(run, accepted.events());
    } else if (request.action() == CallAction.CANCEL
        && program(run) == null
        && !run.mayOweUndoing()) {
      // Only the version of the flow that ran the effects can compensate them.
      return new Happen<>(List.of(new Event.Cancelled(at.now())), false);
    } else if (migrated instanceof Program.Refused<RunState, Event> refused) {
      return answer(cannotMigrate(at, refused.failure()));
    } else if (request.action() == CallAction.START && !run.running() && beyondQuota(call)) {
      return answer(replies.of(tooManyRuns(), RunState.NONE, 0));
    } else if (request.action() != CallAction.START && program(run) == null) {
      return answer(replies.withOpen(replies.versionChanged(run), run, at.seq()));
    }
    return new Accept<>(
        !repeats && fetches(call) ? new Input.Again(at.now()) : input(request, at.now()));
  }

  /** Whether an operator resolves a run, whose outcome its owner fetches. */
  private static boolean operated(Call call) {
    return request(call).resolution() != null && call.origin().session() == null;
  }

  /** A fork begins with what happened in its source; then it is a run like any other. */
  private Admission<Input, Event> fork(Call call, Request.Fork fork, long now) {
    List<Event> events = new ArrayList<>(fork.events());
    RunState run = RunState.NONE.apply(events);
    if (!run.sandboxed() && beyondQuota(call)) {
      return answer(replies.of(tooManyRuns(), RunState.NONE, 0));
    }
    Integer version = fork.version();
    FlowProgram<?> program = version == null ? program(run) : named(version);
    if (version != null
        && (program == null || !(runs(program, run) || program.migratesFrom(run.version())))) {
      return answer(replies.of(notOn(version, run), RunState.NONE, 0));
    }
    if (program == null) {
      program = host.catalog().versions(flow).takingOver(run).orElse(null);
    }
    if (program == null || !(runs(program, run) || program.migratesFrom(run.version()))) {
      return answer(replies.of(replies.versionChanged(run), RunState.NONE, 0));
    }
    if (!runs(program, run)) {
      Program.Acceptance<RunState, Event> migrated = program.migrate(run, now);
      session.threw(migrated, new Quotable(events, run));
      if (migrated instanceof Program.Refused<RunState, Event> refused) {
        return answer(replies.of(refused.failure(), RunState.NONE, 0));
      }
      events.addAll(((Program.Accepted<RunState, Event>) migrated).events());
    }
    RunState source = RunState.NONE.apply(events);
    Program.Acceptance<RunState, Event> begun = program.fork(source, request(call).updates(), now);
    session.threw(begun, new Quotable(events, source));
    if (begun instanceof Program.Refused<RunState, Event> refused) {
      return answer(replies.of(refused.failure(), RunState.NONE, 0));
    }
    events.addAll(((Program.Accepted<RunState, Event>) begun).events());
    return new Happen<>(events, false);
  }

  private @Nullable FlowProgram<?> named(int version) {
    return version == ForkOptions.NEWEST
        ? newest()
        : host.catalog().versions(flow).of(version).orElse(null);
  }

  private Outcome.Failure notOn(int version, RunState run) {
    List<Integer> all =
        host.catalog().versions(flow).all().stream().map(p -> p.flow().version()).sorted().toList();
    int wanted = version == ForkOptions.NEWEST ? newest().flow().version() : version;
    String why =
        all.contains(wanted)
            ? "version %s, and version %s has no migration from that; a run is carried over to later versions alone"
            : "version %s, and the host has no version %s of its flow; it has %s";
    return Outcome.Failure.of(
        ErrorCode.VERSION_CHANGED,
        "The run is on " + why.formatted(run.version(), wanted, all) + " at that entry.");
  }

  /** Whether a program is that of a run's version. */
  private static boolean runs(FlowProgram<?> program, RunState run) {
    return program.flow().version() == run.version()
        && program.flow().fingerprint().equals(run.fingerprint());
  }

  private static Answer<Input, Event> answer(RunReply reply) {
    return new Answer<>(reply);
  }

  /** Whether a client exceeds its quota of runs; schedules and threads have their own bounds. */
  private boolean beyondQuota(Call call) {
    Entry.Owner owner = call.origin().owner();
    return owner != null
        && !owner.principal().equals(Schedule.PRINCIPAL)
        && !owner.principal().equals(SessionKey.TOOLS)
        && host.listing().runs().full(owner.principal());
  }

  private Outcome.Failure tooManyRuns() {
    return HostError.TOO_MANY_RUNS.failure(
        HostError.TOO_MANY_RUNS.cause() + ": " + host.listing().runs().most());
  }

  private Input input(Request.OfRun request, long now) {
    if (request.resolution() != null && request.action() == CallAction.CONTINUE) {
      return new Input.Resolve(request.resolution(), now);
    }
    Request.Signal signal = request.signal();
    if (signal != null) {
      return new Input.Signal(signal.name(), signal.payload(), now);
    }
    return switch (request.action()) {
      case START ->
          new Input.Start(
              SessionKey.newRunId(session.entityId(), session.seq()),
              request.intent(),
              request.updates(),
              now);
      case RESET -> new Input.Reset(request.updates(), now);
      case CANCEL -> new Input.Cancel(now);
      case POSTPONE ->
          new Input.Postpone(
              request.updates().propertyStream().map(Map.Entry::getKey).collect(Collectors.toSet()),
              now);
      case CONTINUE, STATUS, SIGNAL, FORK -> {
        Request.Only only = request.only();
        boolean toQuestions = only != null && only.asked() != null;
        yield new Input.Continue(request.updates(), toQuestions, now);
      }
    };
  }

  // --- recovery and migration -----------------------------------------------------------------

  @Override
  public boolean resumes(RunState run, long now) {
    FlowProgram<?> program = program(run);
    FlowProgram<?> heir = heir(run);
    return RunPhases.hasWork(run)
        || (program != null && program.expiresAt(run) != null)
        || (heir != null && heir.expired(run, now));
  }

  @Override
  public Entry.@Nullable Wake wake(Program.Next<StepEffect> next) {
    return next instanceof Program.Pause<StepEffect> pause
        ? RunEntries.wake(pause.timers())
        : Entry.Wake.NOW;
  }

  @Override
  public boolean takenOver(RunState run) {
    return heir(run) != null;
  }

  @Override
  public Admission<Input, Event> resume(Situation<RunState, Event> at, Set<String> running) {
    RunState run = at.state().program();
    Program.Acceptance<RunState, Event> migrated =
        migrated(run, heir -> heir.takeOver(run, at.now()));
    if (migrated instanceof Program.Accepted<RunState, Event> accepted) {
      return migrate(run, accepted.events());
    } else if (migrated instanceof Program.Refused<RunState, Event> refused) {
      return answer(cannotMigrate(at, refused.failure()));
    }
    if (program(run) == null) {
      Outcome.Failure changed = replies.versionChanged(run);
      session.log().warn("Run {}: {}", run.runId(), changed.message());
      return answer(replies.withOpen(changed, run, at.seq()));
    }
    return new Accept<>(new Input.Recovered(running, at.now()));
  }

  /** Migrates the run to a newer version; null if it need not or cannot. */
  private Program.@Nullable Acceptance<RunState, Event> migrated(
      RunState run, Function<FlowProgram<?>, Program.Acceptance<RunState, Event>> how) {
    FlowProgram<?> heir = heir(run);
    if (heir == null) {
      return null;
    }
    Program.Acceptance<RunState, Event> migrated = how.apply(heir);
    session.threw(migrated, new Quotable(List.of(), run));
    return migrated;
  }

  /** The program of a newer version that takes the run over as its own is gone. */
  private @Nullable FlowProgram<?> heir(RunState run) {
    return program(run) == null ? host.catalog().versions(flow).takingOver(run).orElse(null) : null;
  }

  /** The run continues on another version, which then handles the call. */
  private Admission<Input, Event> migrate(RunState run, List<Event> events) {
    RunState after = run.apply(events);
    if (after.running()) {
      session.log().info("Run {} continues on version {}", after.runId(), after.version());
    }
    return new Happen<>(events, true);
  }

  private RunReply cannotMigrate(Situation<RunState, Event> at, Outcome.Failure failure) {
    RunState run = at.state().program();
    String why = Texts.inOneLine(session.masked(failure.message()));
    session.log().warn("Run {}: {}", run.runId(), why);
    return replies.of(failure, run, at.seq());
  }

  @Override
  public @Nullable Input unattended(Situation<RunState, Event> at) {
    return program(at.ahead()) == null ? null : new Input.Unattended(at.now());
  }

  @Override
  public @Nullable Input continuesAlone(Situation<RunState, Event> at, Outcome outcome) {
    Waiting current = at.current();
    boolean callsAgain = current != null && current.callsAgain();
    FlowProgram<?> program = program(at.ahead());
    return program == null
        ? null
        : program.continuesAlone(at.ahead(), outcome, callsAgain, at.now());
  }

  @Override
  public boolean waitsFor(Situation<RunState, Event> at, Program.Pause<StepEffect> pause) {
    Long until = pause.until();
    return until != null && until - at.now() < host.longestHeld().toMillis();
  }

  // --- replies and entries --------------------------------------------------------------------

  @Override
  public SessionReply refused(Situation<RunState, Event> at, Outcome.Failure why) {
    return replies.refused(why, at.state(), at.seq());
  }

  @Override
  public Written<Event> settled(
      Situation<RunState, Event> at,
      Program.Next<StepEffect> next,
      boolean again,
      List<StepEffect> beside) {
    keepSecret(at);
    return entries.settled(at, outcome(at, next, again), beside);
  }

  private Outcome outcome(
      Situation<RunState, Event> at, Program.Next<StepEffect> next, boolean again) {
    if (next instanceof Program.Pause<StepEffect> pause) {
      FlowProgram<?> program = program(at.ahead());
      return again && program != null ? program.now(at.ahead()) : pause.outcome();
    }
    return mapped(at, ((Program.Finish<StepEffect>) next).outcome());
  }

  /** The caller of a tool gets the result of the run, mapped by the tool of the run's version. */
  private Outcome mapped(Situation<RunState, Event> at, Outcome outcome) {
    FlowTool tool = host.catalog().tool(host.catalog().describing(flow, at.ahead()));
    if (tool == null || !(outcome instanceof Outcome.Complete complete)) {
      return outcome;
    }
    Supplier<String> text = narrative.text(tool.flow(), at);
    FlowTool.Finished finished =
        new FlowTool.Finished(
            at.ahead().data().deepCopy(),
            Json.copy(complete.result()),
            () -> session.masked(text.get()));
    ObjectNode mapped = tool.mapped(finished);
    List<JsonNode> changes = at.state().changesOfCaller(at.unjournaled());
    if (!mapped.path("error").asBoolean() && !changes.isEmpty()) {
      changes.forEach(mapped.putArray("changes")::add);
    }
    return new Outcome.Complete(mapped, complete.reason(), complete.violations());
  }

  @Override
  public Written<Event> working(Situation<RunState, Event> at) {
    keepSecret(at);
    return entries.working(at);
  }

  @Override
  public Written<Event> acknowledged(Situation<RunState, Event> at, Waiting call) {
    keepSecret(at);
    return entries.acknowledged(at, call);
  }

  @Override
  public Written<Event> detached(Situation<RunState, Event> at, Waiting call) {
    keepSecret(at);
    return entries.detached(at, call);
  }

  /** Another version of the flow may mark existing fields as secret. */
  private void keepSecret(Situation<RunState, Event> at) {
    if (at.state().program().version() != at.ahead().version()) {
      session.keepSecret(at.ahead());
    }
  }

  @Override
  public Written<Event> withdrawn(Situation<RunState, Event> at, Waiting call) {
    boolean returnsTask = call.takesTasks() && !RunEntries.isTask(at);
    boolean looks = call.call.request().asksAgain() && !returnsTask;
    Outcome.Failure why =
        looks
            ? HostError.STILL_WORKING.failure()
            : HostError.BUSY.failure("The call was queued until its deadline and was not handled");
    keepSecret(at);
    List<Entry<Event>> written = looks ? entries.behind(at, call) : List.of();
    long seq = at.seq() + written.size();
    return new Written<>(written, replies.of(why, at.state().program(), seq));
  }

  @Override
  public SessionReply displaced(Situation<RunState, Event> at, Call call, SessionReply reply) {
    return at.ahead().running() || request(call).action() == CallAction.CANCEL
        ? reply
        : replies.of(Outcome.Failure.of(ErrorCode.RUN_CANCELLED), at.ahead(), at.seq());
  }

  @Override
  public void happened(Waiting call, Event event, long at) {
    if (event instanceof Event.ForkedFrom) {
      call.forgetVisits();
    } else if (event instanceof Event.Moved moved) {
      visit(call, moved.to(), moved.at());
    } else if (event instanceof Event.Forked forked) {
      forked.heads().forEach(head -> visit(call, head.place(), forked.at()));
    } else if (event instanceof Event.Retried retried) {
      visit(call, retried.place(), at);
    } else if (event instanceof Event.Reset reset) {
      reset.to().forEach(back -> visit(call, back.place(), at));
    }
  }

  private static void visit(Waiting call, Place place, long at) {
    if (place.declared()) {
      call.visit(place.node(), at);
    }
  }

  // --- the journal ----------------------------------------------------------------------------

  @Override
  public void applied(Entry<Event> entry, RunState before, RunState after) {
    if (isTool) {
      narrative.add(entry, before);
    }
    if (before.version() != after.version()) {
      session.keepSecret(after);
    }
  }

  @Override
  public @Nullable CompletionStage<?> persisted(
      SessionState<RunState> before,
      List<Entry<Event>> written,
      SessionState<RunState> after,
      RunState ahead,
      @Nullable Waiting current) {
    if (written.isEmpty()) {
      return null;
    }
    // A fork in a sandbox concerns nobody.
    if (!ahead.sandboxed()) {
      boolean concerned = !before.program().sandboxed();
      RunEvents next = RunEvents.latest();
      for (Entry<Event> entry : written) {
        List<Event> events = concerned ? entry.events() : next.in(entry.events());
        RunChanges.report(flow, events, host.telemetry());
        record(concerned ? before.program() : RunState.NONE, entry, events, ahead);
      }
    }
    list(before, written, after, ahead);
    SessionSubscriptions subscriptions = host.observers().subscriptions();
    written.forEach(entry -> subscriptions.persisted(session.entityId(), entry, false));
    notifyThread(before, ahead, current);
    return null;
  }

  /**
   * A thread that waits for this run learns at once that the wait, or what followed, is over. It
   * need not look while it is asked what it was asked.
   */
  private void notifyThread(
      SessionState<RunState> before, RunState ahead, @Nullable Waiting current) {
    Entry.Owner owner = before.owner();
    boolean paused = !before.program().works() || !ahead.works();
    if (owner == null
        || !owner.principal().equals(SessionKey.TOOLS)
        || !paused
        || asksTheSame(before.program(), ahead)) {
      return;
    }
    boolean looks = current != null && SessionKey.TOOLS.equals(current.call.origin().principal());
    ThreadKey thread = ThreadKey.caller(owner.session());
    if (thread != null && !looks) {
      String call = ToolUse.of(flow, owner.session()).callId();
      host.threading().flowChanged().accept(thread, call);
    }
  }

  private boolean asksTheSame(RunState before, RunState now) {
    Outcome asked = now.running() ? newest().open(now) : null;
    return asked != null && asked.equals(newest().open(before));
  }

  /** Recorders get journaled events only. */
  private void record(RunState before, Entry<Event> entry, List<Event> events, RunState ahead) {
    if (!host.observers().recorders().isEmpty() && !events.isEmpty()) {
      Flow<?> by = host.catalog().describing(flow, ahead);
      recorders.publish(by, before, entry.seq(), entry.at(), events);
    }
  }

  private void list(
      SessionState<RunState> before,
      List<Entry<Event>> written,
      SessionState<RunState> after,
      RunState ahead) {
    SessionHost.Listing listing = host.listing();
    Entry.Owner owner = before.owner();
    long seq = session.seq();
    for (Entry<Event> entry : written) {
      RunEnd end = entry.end();
      Entry.Owner starter = entry.origin().owner();
      owner = starter == null ? owner : starter;
      if (end != null && !before.hasEnded(end.runId())) {
        RunState last = end.status() == RunState.Status.ABANDONED ? before.program() : ahead;
        RunRow row = new RunRow(flow, end.last(last, entry.at()), owner, entry.seq());
        listing.sessions().runEnded(row, end.keptUntil());
        if (owner != null && before.program().runId().equals(end.runId()) && !last.sandboxed()) {
          listing.runs().ended(owner.principal());
        }
      }
    }
    RunState run = after.program();
    if (run.running()) {
      boolean begins = !run.runId().equals(before.program().runId());
      listing.sessions().runChanged(new RunRow(flow, run, after.owner(), seq), begins);
      if (begins && after.owner() != null && !run.sandboxed()) {
        listing.runs().began(after.owner().principal());
      }
    }
  }

  // --- effects --------------------------------------------------------------------------------

  @Override
  public void label(LogLabels labels, RunState run) {
    labels.with(LogLabels.RUN, run.runId());
  }

  @Override
  public @Nullable String failure(StepEffect effect, Input.Result result) {
    return result instanceof Input.Failed failed
        ? Objects.requireNonNullElse(failed.detail(), "")
        : null;
  }

  @Override
  public @Nullable Throwable thrown(Input.Result result) {
    return result instanceof Input.Failed failed ? failed.thrown() : null;
  }

  @Override
  public Effects.Performer<StepEffect, Input.Result> performer(
      Program<RunState, Input, Event, StepEffect, Input.Result, World> program,
      Situation<RunState, Event> at,
      TraceContext cause) {
    return new StepPerformer(program, at.ahead(), session, callers(at), starter(at), cause);
  }

  /** All runs of a session have the same principal. */
  private static String starter(Situation<RunState, Event> at) {
    Entry.Owner owner = owner(at);
    return owner == null ? "" : owner.principal();
  }

  /** That of the first call before it is journaled. */
  private static Entry.@Nullable Owner owner(Situation<RunState, Event> at) {
    Entry.Owner owner = at.state().owner();
    return owner == null ? at.origin().owner() : owner;
  }

  /** The caller of the flow, for a step. */
  private Function<StepEffect, Caller> callers(Situation<RunState, Event> at) {
    ToolUse use = use(at);
    if (use == null) {
      return effect -> Caller.NONE;
    }
    List<JsonNode> before = at.state().changesOfCaller(at.unjournaled());
    return effect -> new ThreadCaller(host.threading(), use, effect, before);
  }

  /** The call of a thread that started the run; null if none did. */
  private @Nullable ToolUse use(Situation<RunState, Event> at) {
    if (!isTool) {
      return null;
    }
    Entry.Owner owner = owner(at);
    return owner == null || ThreadKey.caller(owner.session()) == null
        ? null
        : ToolUse.of(flow, owner.session());
  }
}

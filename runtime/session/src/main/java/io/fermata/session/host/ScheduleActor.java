package io.fermata.session.host;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Retry;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.session.admin.MissedRuns;
import io.fermata.session.admin.Schedule;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.ScheduleEntry;
import io.fermata.session.key.HostError;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.ScheduleObserver;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.RecoveryCompleted;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.Effect;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.SignalHandler;

/**
 * Runs one schedule. It journals the occurrence that it is about to start, starts the run by a call
 * with the occurrence as call id, and journals that this is done. After a crash in between it
 * repeats the call with the same id, which starts nothing twice.
 */
public final class ScheduleActor
    extends EventSourcedBehavior<ScheduleActor.Command, ScheduleEntry, ScheduleEntry> {

  /** No flow's id starts with this prefix, so journals of sessions and schedules differ. */
  private static final String JOURNALS = "~schedule|";

  /** A changed clock or a suspended machine is noticed within this time. */
  private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

  private static final Retry RETRY = Retry.of(Integer.MAX_VALUE, Duration.ofSeconds(1));
  private static final int MOST_MISSED = 1_000;

  /** The messages of a schedule. */
  sealed interface Command {}

  /** Check the clock. */
  private record Look() implements Command {}

  /** The call that starts an occurrence's run got its reply. */
  private record Answered(long occurrence, ToolReply reply) implements Command {}

  /** The call that starts an occurrence's run failed. */
  private record Failed(long occurrence, Throwable thrown) implements Command {}

  private final Schedule schedule;
  private final Rhythm rhythm;
  private final Function<ToolCall, CompletionStage<ToolReply>> host;
  private final InstantSource clock;
  private final Instant started;
  private final Telemetry telemetry;
  private final ScheduleObserver observer;
  private final ActorContext<Command> context;
  private final ActorRef<Command> self;
  private final TimerScheduler<Command> timers;
  private final Queue<Instant> waiting = new ArrayDeque<>();
  private int refusals;
  private boolean calling;
  private boolean warned;

  private ScheduleActor(
      Schedule schedule,
      Rhythm rhythm,
      Function<ToolCall, CompletionStage<ToolReply>> host,
      InstantSource clock,
      Instant started,
      Telemetry telemetry,
      ScheduleObserver observer,
      ActorContext<Command> context,
      TimerScheduler<Command> timers) {
    super(
        PersistenceId.ofUniqueId(journalOf(schedule)),
        SupervisorStrategy.restartWithBackoff(RETRY.first(), RETRY.longest(), 0.2));
    this.schedule = schedule;
    this.rhythm = rhythm;
    this.host = host;
    this.clock = clock;
    this.started = started;
    this.telemetry = telemetry;
    this.observer = observer;
    this.context = context;
    this.self = context.getSelf();
    this.timers = timers;
  }

  static String journalOf(Schedule schedule) {
    return JOURNALS + schedule.name();
  }

  /**
   * The actor of a schedule.
   *
   * @param started when its host started
   */
  static Behavior<Command> create(
      Schedule schedule,
      Rhythm rhythm,
      Function<ToolCall, CompletionStage<ToolReply>> host,
      InstantSource clock,
      Instant started,
      Telemetry telemetry,
      ScheduleObserver observer) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers ->
                    new ScheduleActor(
                        schedule, rhythm, host, clock, started, telemetry, observer, context,
                        timers)));
  }

  @Override
  public ScheduleEntry emptyState() {
    return ScheduleEntry.NONE;
  }

  @Override
  public EventHandler<ScheduleEntry, ScheduleEntry> eventHandler() {
    return (before, entry) -> entry;
  }

  /** Each entry is complete, so earlier ones can be swept. */
  @Override
  public Set<String> tagsFor(ScheduleEntry entry) {
    return Set.of(JournalTags.sweep(0));
  }

  @Override
  public SignalHandler<ScheduleEntry> signalHandler() {
    return newSignalHandlerBuilder()
        .onSignal(RecoveryCompleted.instance(), state -> recovered())
        .build();
  }

  @Override
  public CommandHandler<Command, ScheduleEntry, ScheduleEntry> commandHandler() {
    return newCommandHandlerBuilder()
        .forAnyState()
        .onCommand(Look.class, (state, look) -> look(state))
        .onCommand(Answered.class, this::answered)
        .onCommand(Failed.class, this::failed)
        .build();
  }

  /** Also after a failed write, when the memory may be ahead of the journal. */
  private void recovered() {
    waiting.clear();
    calling = false;
    lookAgain();
  }

  private void lookAgain() {
    self.tell(new Look());
  }

  private Effect<ScheduleEntry, ScheduleEntry> look(ScheduleEntry state) {
    if (calling) {
      return Effect().none();
    }
    if (state.starting()) {
      call(state);
      return Effect().none();
    }
    Instant now = clock.instant();
    if (!state.rhythm().equals(rhythm.text())) {
      return begin(state, now);
    }
    if (waiting.isEmpty()) {
      waiting.addAll(missed(Instant.ofEpochMilli(state.upTo()), now));
    }
    Instant next = waiting.poll();
    if (next == null) {
      waitForTheNext(state, now);
      return Effect().none();
    }
    return write(next, schedule.missed() != MissedRuns.NONE || next.isAfter(started));
  }

  /** A new or changed schedule has no missed occurrences. */
  private Effect<ScheduleEntry, ScheduleEntry> begin(ScheduleEntry state, Instant now) {
    context
        .getLog()
        .info(
            "Schedule {} {}; it will start {} for the first time at {}",
            schedule.name(),
            state.rhythm().isEmpty() ? "begins" : "has changed",
            schedule.flow(),
            rhythm.after(now).map(Instant::toString).orElse("no time"));
    return write(now, false);
  }

  private Effect<ScheduleEntry, ScheduleEntry> write(Instant upTo, boolean starting) {
    ScheduleEntry entry =
        new ScheduleEntry(clock.millis(), rhythm.text(), upTo.toEpochMilli(), starting);
    return Effect().persist(entry).thenRun(this::lookAgain);
  }

  /** The occurrences since the last one that are not skipped. */
  private List<Instant> missed(Instant last, Instant now) {
    List<Instant> missed =
        rhythm.latest(last, now, schedule.missed() == MissedRuns.ALL ? MOST_MISSED : 1);
    Optional<Instant> first = rhythm.after(last);
    if (!missed.isEmpty() && first.isPresent() && first.get().isBefore(missed.get(0))) {
      context
          .getLog()
          .warn(
              "Schedule {} has missed occurrences since {} and skips those before {}",
              schedule.name(),
              first.get(),
              missed.get(0));
    }
    return missed;
  }

  private void waitForTheNext(ScheduleEntry state, Instant now) {
    Instant upTo = Instant.ofEpochMilli(state.upTo());
    warnIfAhead(upTo, now);
    Optional<Instant> next = rhythm.after(upTo);
    next.map(then -> Duration.between(now, then))
        .ifPresent(left -> lookIn(left.compareTo(LONGEST_WAIT) < 0 ? left : LONGEST_WAIT));
    observer.waits(schedule.name(), next.orElse(Instant.MAX), this::lookAgain);
  }

  /** A clock that is set back by a moment lies before none but what was handled last. */
  private void warnIfAhead(Instant upTo, Instant now) {
    boolean ahead = rhythm.after(now).filter(next -> next.isBefore(upTo)).isPresent();
    if (ahead && !warned) {
      context
          .getLog()
          .warn(
              "Schedule {} starts nothing until {}: a host whose clock was ahead has handled all"
                  + " before. If the clock is correct now, rename the schedule to start again",
              schedule.name(),
              upTo);
    }
    warned = ahead;
  }

  private void lookIn(Duration time) {
    timers.startSingleTimer(new Look(), time);
  }

  private void call(ScheduleEntry state) {
    calling = true;
    long occurrence = state.upTo();
    context.pipeToSelf(
        host.apply(start(occurrence)),
        (reply, thrown) ->
            thrown == null ? new Answered(occurrence, reply) : new Failed(occurrence, thrown));
  }

  private ToolCall start(long occurrence) {
    String name = schedule.name() + "/" + OutcomeJson.time(occurrence);
    ObjectNode arguments =
        Json.object()
            .put("action", CallAction.START.wireName())
            .put("intent", schedule.intent())
            .set("stateUpdates", schedule.updates());
    ObjectNode meta = Json.object().put(FlowCall.SESSION_ID, name).put(FlowCall.CALL_ID, name);
    return new ToolCall(schedule.flow(), Schedule.PRINCIPAL, arguments, meta, null);
  }

  private Effect<ScheduleEntry, ScheduleEntry> answered(ScheduleEntry state, Answered answered) {
    if (!state.starting() || state.upTo() != answered.occurrence()) {
      return Effect().none();
    }
    String time = OutcomeJson.time(answered.occurrence());
    ObjectNode reply = answered.reply().structured();
    String code = answered.reply().error() ? reply.path("code").asText() : "";
    if (code.equals(HostError.SHUTTING_DOWN.wireName())) {
      // The next host repeats the call.
      return Effect().none();
    }
    if (HostError.isTemporary(code)) {
      return callAgain(time, reply.path("error").asText());
    }
    boolean failed = !code.isEmpty() && !code.equals(HostError.STILL_WORKING.wireName());
    became(failed ? Telemetry.Start.FAILED : Telemetry.Start.STARTED);
    if (failed) {
      context
          .getLog()
          .warn(
              "The run of {} that schedule {} started for {} returned {}: {}",
              schedule.flow(),
              schedule.name(),
              time,
              code,
              said(code, reply));
    }
    calling = false;
    refusals = 0;
    return Effect()
        .persist(new ScheduleEntry(clock.millis(), state.rhythm(), state.upTo(), false))
        .thenRun(this::lookAgain);
  }

  private void became(Telemetry.Start outcome) {
    telemetry.measured(Meter.STARTS, 1, List.of(schedule.name(), Meter.tag(outcome)));
  }

  /** What a run says of itself may quote answers; its own log lines have that without secrets. */
  private static String said(String code, ObjectNode reply) {
    return HostError.named(code) == null
        ? "see what its session has logged, or ask for its status"
        : reply.path("error").asText();
  }

  private Effect<ScheduleEntry, ScheduleEntry> failed(ScheduleEntry state, Failed failed) {
    if (!state.starting() || state.upTo() != failed.occurrence()) {
      return Effect().none();
    }
    return callAgain(OutcomeJson.time(failed.occurrence()), Failures.text(failed.thrown()));
  }

  private Effect<ScheduleEntry, ScheduleEntry> callAgain(String time, String why) {
    Duration pause = RETRY.after(++refusals);
    context
        .getLog()
        .warn(
            "Schedule {} could not start its run for {}; retrying in {}: {}",
            schedule.name(),
            time,
            pause,
            Texts.inOneLine(why));
    became(Telemetry.Start.DELAYED);
    calling = false;
    lookIn(pause);
    return Effect().none();
  }
}

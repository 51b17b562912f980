package io.fermata.testkit;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Secrets;
import io.fermata.flow.World;
import io.fermata.flow.action.Caller;
import io.fermata.flow.action.Progress;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.engine.FlowVersions;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.OutcomeJson;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Drives a flow's engine one call per line, without an actor, a store or a real clock.
 *
 * <pre>{@code
 * FlowProbe.of(quote)
 *     .start("wants a price", "seats", 3)
 *     .asks("name", "email")
 *     .answer("name", "Ann", "email", "ann@acme.com")
 *     .visited("classify", "ask_company")
 *     .asks("companySize")
 *     .answer("companySize", "51+")
 *     .shows("show_plans").withData("price", 30)
 *     .answer("selectedPlan", "gold")
 *     .completesWith("price", 30, "selectedPlan", "gold");
 * }</pre>
 *
 * <p>Actions and async validators really run. Time is virtual: a wait before another attempt and an
 * attempt that never ends take no real time; {@link #waited} checks how long a client would have
 * waited. With {@link #manualTime} time stops until {@link #passTime}. The journal is written as a
 * host writes it, so {@link #crash} and {@link #crashAt} lose exactly what a killed host loses.
 *
 * @param <S> the flow's state
 */
public final class FlowProbe<S extends Record> extends Probe<FlowProbe<S>> {
  private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");

  /** What causes an entry, in the words of a journal. */
  private static final String BY_CALLER = "caller";

  private static final String BY_SIGNAL = "signal";
  private static final String BY_EFFECT = "effect";
  private static final String BY_TIMER = "timer";
  private static final String BY_HOST = "host";

  /** A host of default settings lets a call wait for the end of a pause that is shorter. */
  private static final Duration LONGEST_HELD = Settings.DEFAULT.callDeadline().dividedBy(2);

  /** Who waits for what a run comes to; who sends a signal does not call again. */
  private enum Waits {
    NOBODY,
    SENDER,
    CLIENT
  }

  private final World world;
  private final Flow<S> flow;
  private final Limits limits;
  private final FlowProgram<S> program;
  private final FlowVersions versions;
  private final List<JournalEntry<Event>> entries = new ArrayList<>();
  private final List<Event> unjournaled = new ArrayList<>();
  private final List<String> history = new ArrayList<>();
  private final List<String> visits = new ArrayList<>();
  private final List<Duration> waits = new ArrayList<>();
  private RunState state = RunState.NONE;
  private String by = BY_HOST;
  private Instant now = BEGINNING;
  private Duration timeout = Duration.ofSeconds(5);
  private boolean manualTime;

  /** An attempt that does not end by itself, and when it times out. */
  private record Hanging(StepEffect effect, Instant until) {}

  private final List<Hanging> hanging = new ArrayList<>();
  private @Nullable Throwable thrown;

  private FlowProbe(Flow<S> flow, Limits limits, Steps steps, Secrets hidden) {
    super(steps, hidden);
    this.world = new World(refusals(steps), Caller.NONE, TESTER);
    this.flow = flow;
    this.limits = limits;
    this.program = FlowProgram.of(flow, limits);
    this.versions = FlowVersions.of(program);
  }

  private static Progress refusals(Steps steps) {
    return new Progress() {
      @Override
      public void refused(IllegalStateException refusal) {
        steps.refused(refusal);
      }
    };
  }

  public static <S extends Record> FlowProbe<S> of(Flow<S> flow) {
    return of(flow, Limits.DEFAULT);
  }

  public static <S extends Record> FlowProbe<S> of(Flow<S> flow, Limits limits) {
    return new FlowProbe<>(flow, limits, new Steps(flow), new Secrets());
  }

  /**
   * Continues a run that was recorded, as a host does that reads it from its store: steps that were
   * running are attempted again.
   */
  public static <S extends Record> FlowProbe<S> from(Flow<S> flow, RunJournal recorded) {
    FlowProbe<S> probe = of(flow);
    probe.hides(flow, recorded);
    for (JournalEntry<Event> entry : recorded.whole().entries()) {
      probe.entries.add(entry);
      Instant written = Instant.ofEpochMilli(entry.at());
      probe.now = written.isAfter(probe.now) ? written : probe.now;
    }
    return probe.crash();
  }

  // --- how it runs -----------------------------------------------------------------------------

  /**
   * How long, in real time, an attempt may run before it counts as one that never ends; 5 seconds
   * by default.
   */
  public FlowProbe<S> timeout(Duration limit) {
    ProbeClock.requireTime("The timeout", limit);
    timeout = limit;
    return this;
  }

  /** From now on, waits and timeouts elapse only with {@link #passTime}. */
  public FlowProbe<S> manualTime() {
    manualTime = true;
    return this;
  }

  // --- calls ----------------------------------------------------------------------------------

  @Override
  public FlowProbe<S> start(String intent, Object... said) {
    Objects.requireNonNull(intent, "intent");
    // Unique across probes, because services that are called know runs by their id.
    String runId = UUID.randomUUID().toString();
    return call(
        startCall(intent, said),
        new Input.Start(runId, intent, Trees.of(said), now.toEpochMilli()));
  }

  @Override
  public FlowProbe<S> answer(Object... answers) {
    return call(call("answer", answers), new Input.Continue(Trees.of(answers), now.toEpochMilli()));
  }

  @Override
  public FlowProbe<S> again() {
    return call("again", new Input.Continue(Trees.of(), now.toEpochMilli()));
  }

  @Override
  public FlowProbe<S> reset(Object... corrections) {
    return call(
        call("reset", corrections), new Input.Reset(Trees.of(corrections), now.toEpochMilli()));
  }

  @Override
  public FlowProbe<S> cancel() {
    return call("cancel", new Input.Cancel(now.toEpochMilli()));
  }

  /** Decides about a step whose outcome is unknown. */
  public FlowProbe<S> resolve(Input.Resolution resolution) {
    return call("resolve " + resolution, new Input.Resolve(resolution, now.toEpochMilli()));
  }

  @Override
  public FlowProbe<S> signal(String name, @Nullable Object payload) {
    return call(
        "signal " + name + " " + payload,
        new Input.Signal(name, Json.tree(payload), now.toEpochMilli()));
  }

  private FlowProbe<S> called(String call, Outcome next) {
    return called(call, OutcomeJson.body(next));
  }

  private FlowProbe<S> call(String what, Input input) {
    history.add("» " + what);
    boolean given = input instanceof Input.Signal || program.open(state) != null;
    if (working() && !given && !(input instanceof Input.Cancel)) {
      return called(what, stillWorking());
    }
    visits.clear();
    waits.clear();
    thrown = null;
    by = input instanceof Input.Signal ? BY_SIGNAL : BY_CALLER;
    Outcome.Failure stranded = takenOver(input);
    if (stranded != null) {
      return called(what, stranded);
    }
    Program.Acceptance<RunState, Event> acceptance = threw(program.accept(state, input));
    if (acceptance instanceof Program.Refused<RunState, Event> refused) {
      return called(what, refused.failure());
    }
    List<Event> events = ((Program.Accepted<RunState, Event>) acceptance).events();
    happen(events);
    boolean repeats = events.isEmpty();
    if (input instanceof Input.Cancel) {
      hanging.clear();
    }
    Outcome settled = settle(input instanceof Input.Signal ? Waits.SENDER : Waits.CLIENT);
    if (input instanceof Input.Cancel && state.status() == RunState.Status.CANCELLED) {
      return called(what, OutcomeJson.cancelled());
    }
    boolean open = repeats && program.open(state) != null;
    return called(what, open ? program.now(state) : settled);
  }

  // --- time and crashes ------------------------------------------------------------------------

  /**
   * Lets time pass: waits end, hanging attempts time out, idle runs expire. A run that was not
   * carried over is left as it was, unless it can be by now.
   */
  public FlowProbe<S> passTime(Duration time) {
    ProbeClock.requireTime("The time that passes", time);
    history.add("» " + time + " pass");
    by = BY_TIMER;
    Instant end = now.plus(time);
    if (left()) {
      now = end;
      resume();
    }
    for (Instant due = due(); due != null && !due.isAfter(end); due = due()) {
      elapse();
      resultsIn(OutcomeJson.body(settle(Waits.NOBODY)));
    }
    now = end;
    return this;
  }

  /** Kills the host and starts it again: only the journal is left. */
  public FlowProbe<S> crash() {
    killed();
    return resume();
  }

  private void killed() {
    history.add("✗ the host is killed and starts again");
    unjournaled.clear();
    hanging.clear();
    by = BY_HOST;
    state = fold();
  }

  /**
   * The host stops, and a release with only this version of the flow takes over the run. As on a
   * host, steps that were running are attempted again, and a run whose version has another graph
   * now, or that no migration leads from, fails with {@code version_changed}. What the test plans
   * for steps applies to those that still have the same name.
   */
  public <T extends Record> FlowProbe<T> upgrade(Flow<T> next) {
    FlowProbe<T> upgraded = new FlowProbe<>(next, limits, steps.on(next), hidden);
    upgraded.timeout = timeout;
    upgraded.history.addAll(history);
    upgraded.history.add("✗ the host stops and starts again with " + next);
    upgraded.entries.addAll(entries);
    upgraded.state = fold();
    upgraded.now = now;
    upgraded.manualTime = manualTime;
    return upgraded.resume();
  }

  private FlowProbe<S> resume() {
    Outcome.Failure stranded = takenOver(new Input.Recovered(now.toEpochMilli()));
    if (stranded == null) {
      recover();
    }
    return resultsIn(OutcomeJson.body(stranded == null ? settle(Waits.NOBODY) : stranded));
  }

  private void recover() {
    if (state.running()) {
      feed(new Input.Recovered(now.toEpochMilli()));
    }
  }

  /** Whether the run is on a version that is not there, so that nothing but a call can move it. */
  private boolean left() {
    return state.running() && versions.of(state).isEmpty();
  }

  /** Migrates the run if it is on another version; why it cannot continue if that fails. */
  private Outcome.@Nullable Failure takenOver(Input input) {
    if (!left() || input instanceof Input.Start) {
      return null;
    }
    Outcome.Failure stranded = versions.changed(state).open(program.open(state));
    if (versions.takingOver(state).isPresent()) {
      Program.Acceptance<RunState, Event> taken = threw(migrated(input));
      if (taken instanceof Program.Accepted<RunState, Event> accepted) {
        happen(accepted.events());
        write();
        return null;
      }
      stranded = ((Program.Refused<RunState, Event>) taken).failure();
    }
    // Only the version that ran the effects can compensate them.
    return input instanceof Input.Cancel && !state.mayOweUndoing() ? null : stranded;
  }

  /** A run whose time is over need not continue to be ended. */
  private Program.Acceptance<RunState, Event> migrated(Input input) {
    long at = now.toEpochMilli();
    return input instanceof Input.Recovered || input instanceof Input.Cancel
        ? program.takeOver(state, at)
        : program.migrate(state, at);
  }

  /**
   * Checks that replaying the journal gives the state that the run has, and that the flow decides
   * the journal again as it was decided.
   */
  public FlowProbe<S> replayed() {
    check(fold().equals(state), "the journal to replay to the state of the run");
    Replay again = Replay.of(flow, limits, recorded());
    Replay.Uncompared rest = again.uncompared();
    return check(
        again.same(),
        "the journal to be decided again as it was. "
            + (rest == null ? again.divergence() : rest.text()));
  }

  /**
   * The run as a journal that can be kept, looked at and decided again: an entry for each time that
   * a host would write, with its virtual time and what caused it.
   */
  public RunJournal recorded() {
    return RunJournal.of(flow.id(), state.runId(), entries);
  }

  // --- more expectations ----------------------------------------------------------------------

  /** The run is working at this step: its attempt or a wait before the next one has not ended. */
  public FlowProbe<S> worksAt(String node) {
    steps.requirePlace(node);
    return check(
        working() && state.places().keySet().stream().anyMatch(p -> p.node().equals(node)),
        "the run to be still working at " + node);
  }

  /** A step was attempted this many times in its current or last visit, over all calls. */
  public FlowProbe<S> attempts(String node, int count) {
    steps.requirePlace(node);
    long attempts = 0;
    for (Event event : all()) {
      if (event instanceof Event.Moved moved && moved.to().node().equals(node)) {
        attempts = 0;
      } else if (event instanceof Event.Attempted a && a.place().node().equals(node)) {
        attempts++;
      }
    }
    return check(attempts == count, count + " attempts of " + node + " instead of " + attempts);
  }

  /** The last call waited exactly like this between attempts. */
  public FlowProbe<S> waited(Duration... between) {
    return check(
        waits.equals(List.of(between)),
        "waits of " + list((Object[]) between) + " between attempts instead of " + waits);
  }

  /** The state as the author's record; fields without a value are null. */
  public S state() {
    return flow.view(state);
  }

  /** The events that are journaled. */
  public List<Event> journal() {
    return entries.stream().flatMap(entry -> entry.events().stream()).toList();
  }

  /** The engine's state of the run. */
  public RunState runState() {
    return state;
  }

  public Instant now() {
    return now;
  }

  @Override
  FlowProbe<S> self() {
    return this;
  }

  @Override
  ObjectNode data() {
    return state.data();
  }

  @Override
  List<String> visits() {
    return visits;
  }

  @Override
  List<String> history() {
    return history;
  }

  @Override
  @Nullable Throwable thrown() {
    return thrown;
  }

  // --- the shell ------------------------------------------------------------------------------

  /** Returns whether the input is accepted. */
  private boolean feed(Input input) {
    if (threw(program.accept(state, input)) instanceof Program.Accepted<RunState, Event> accepted) {
      happen(accepted.events());
      return true;
    }
    return false;
  }

  private Program.Acceptance<RunState, Event> threw(
      Program.Acceptance<RunState, Event> acceptance) {
    acceptance.thrown().forEach(each -> thrown = each);
    return acceptance;
  }

  private void happen(List<Event> events) {
    for (Event event : events) {
      unjournaled.add(event);
      history.add(Story.of(event));
      state = program.apply(state, List.of(event), 0);
      visit(event);
    }
  }

  private void visit(Event event) {
    if (event instanceof Event.Moved moved) {
      visit(moved.to());
    } else if (event instanceof Event.Forked forked) {
      forked.heads().forEach(head -> visit(head.place()));
    } else if (event instanceof Event.Retried retried) {
      visit(retried.place());
    } else if (event instanceof Event.Reset reset) {
      reset.to().forEach(back -> visit(back.place()));
    }
  }

  private void visit(Place place) {
    if (place.declared()) {
      visits.add(place.node());
    }
  }

  private Outcome settle(Waits who) {
    Duration patience = Settings.DEFAULT.callDeadline();
    while (true) {
      Program.Next<StepEffect> next = program.next(state);
      Optional<StepEffect> work = wanted(next).stream().filter(this::toBePerformed).findFirst();
      if (work.isPresent()) {
        boolean before =
            next instanceof Program.Pause<StepEffect> || !work.get().policy().idempotent();
        if (before) {
          write();
        }
        perform(work.get());
      } else if (next instanceof Program.Finish<StepEffect> finish) {
        write();
        return finish.outcome();
      } else if (next instanceof Program.Pause<StepEffect> pause) {
        Duration held = held(who, pause);
        if (held != null) {
          write();
          patience = patience.minus(held);
          if (patience.isNegative()) {
            return stillWorking();
          }
          elapse();
        } else if (!continuesAlone(who, pause)) {
          write();
          return pause.outcome();
        }
      } else if (manualTime) {
        feed(new Input.Unattended(now.toEpochMilli()));
        write();
        return stillWorking();
      } else {
        write();
        elapse();
      }
    }
  }

  /** How long a call waits for the end of a pause; null if it gets that as its reply. */
  private @Nullable Duration held(Waits who, Program.Pause<StepEffect> pause) {
    Long until = pause.until();
    if (until == null || who == Waits.NOBODY || manualTime) {
      return null;
    }
    Duration left = Duration.between(now, Instant.ofEpochMilli(until));
    return left.compareTo(LONGEST_HELD) < 0 ? left : null;
  }

  private boolean continuesAlone(Waits who, Program.Pause<StepEffect> pause) {
    boolean callsAgain = who == Waits.CLIENT;
    Input alone =
        unjournaled.isEmpty()
            ? null
            : program.continuesAlone(state, pause.outcome(), callsAgain, now.toEpochMilli());
    if (alone == null) {
      return false;
    }
    by = callsAgain ? BY_CALLER : by;
    return feed(alone);
  }

  /** As on a host, what a call waits for has that as its cause, and an entry its first one. */
  private void ifNoCall(String cause) {
    if (unjournaled.isEmpty() && !by.equals(BY_CALLER) && !by.equals(BY_SIGNAL)) {
      by = cause;
    }
  }

  private static List<StepEffect> wanted(Program.Next<StepEffect> next) {
    if (next instanceof Program.Perform<StepEffect> perform) {
      return perform.effects();
    }
    return next instanceof Program.Pause<StepEffect> pause ? pause.timers() : List.of();
  }

  private boolean toBePerformed(StepEffect effect) {
    return !effect.timer() && hanging.stream().noneMatch(one -> one.effect().equals(effect));
  }

  private void perform(StepEffect effect) {
    Steps.Fate fate = steps.ask(state, effect);
    Input.Result result =
        switch (fate) {
          case RUN, CRASH -> attempted(effect);
          case FAIL -> Steps.planned(effect);
          case HANG -> null;
        };
    if (fate == Steps.Fate.CRASH) {
      killed();
      recover();
    } else if (result == null) {
      history.add(effect.place() + " attempt " + effect.attempt() + " does not end");
      hanging.add(new Hanging(effect, now.plus(effect.policy().timeout())));
    } else {
      if (result instanceof Input.Failed failed) {
        thrown = failed.thrown();
      }
      ifNoCall(BY_EFFECT);
      feed(new Input.EffectEnded(effect, result, now.toEpochMilli()));
      if (!effect.policy().idempotent() && working()) {
        write();
      }
    }
  }

  /** What an attempt results in, on a thread of its own; null if it does not end. */
  private Input.@Nullable Result attempted(StepEffect effect) {
    CompletableFuture<Input.Result> result = new CompletableFuture<>();
    RunState before = state;
    Thread thread =
        new Thread(
            () ->
                steps
                    .perform(before, effect, () -> program.perform(before, effect, world))
                    .whenComplete(
                        (ended, failure) ->
                            result.complete(
                                failure == null ? ended : program.failed(effect, failure))),
            "fermata-probe-" + effect.place());
    thread.setDaemon(true);
    thread.setUncaughtExceptionHandler((t, error) -> result.completeExceptionally(error));
    thread.start();
    try {
      return result.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      thread.interrupt();
      return null;
    } catch (ExecutionException e) {
      throw new AssertionError("Step " + effect.place() + " threw an error", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("The test was interrupted in step " + effect.place(), e);
    }
  }

  /** Advances time to the moment that the run waits for, and continues the run. */
  private void elapse() {
    Instant due = due();
    if (due == null) {
      return;
    }
    now = due.isAfter(now) ? due : now;
    Hanging ending = firstHanging();
    if (ending != null && !ending.until().isAfter(now)) {
      hanging.remove(ending);
      Input.Failed timedOut = program.timedOut(ending.effect());
      ifNoCall(BY_EFFECT);
      feed(new Input.EffectEnded(ending.effect(), timedOut, now.toEpochMilli()));
    } else {
      ifNoCall(BY_TIMER);
      timer().ifPresent(effect -> feed(new Input.EffectDue(effect, now.toEpochMilli())));
    }
  }

  /** When the run continues by itself; null if it does not. */
  private @Nullable Instant due() {
    if (left()) {
      return null;
    }
    Optional<Instant> timer = timer().map(FlowProbe::due);
    Hanging ending = firstHanging();
    if (ending == null) {
      return timer.orElse(null);
    }
    return timer.filter(due -> due.isBefore(ending.until())).orElse(ending.until());
  }

  private @Nullable Hanging firstHanging() {
    return hanging.stream().min(Comparator.comparing(Hanging::until)).orElse(null);
  }

  private static Instant due(StepEffect timer) {
    return Instant.ofEpochMilli(Objects.requireNonNull(timer.due()));
  }

  private Optional<StepEffect> timer() {
    return wanted(program.next(state)).stream()
        .filter(StepEffect::timer)
        .min(Comparator.comparing(FlowProbe::due));
  }

  private boolean working() {
    return !left() && program.next(state) instanceof Program.Perform<StepEffect>;
  }

  private static Outcome stillWorking() {
    return new Outcome.Failure(
        "still_working", "The run waits for time to pass.", null, List.of(), null);
  }

  private void write() {
    for (Event event : unjournaled) {
      if (event instanceof Event.AttemptFailed failed) {
        waits.add(Duration.ofMillis(failed.retryAt() - now.toEpochMilli()));
      }
    }
    if (!unjournaled.isEmpty()) {
      long seq = entries.isEmpty() ? 1 : entries.get(entries.size() - 1).seq() + 1;
      String caller = by.equals(BY_CALLER) ? TESTER : null;
      List<Event> events = StoredEvents.roundTrip(unjournaled);
      entries.add(new JournalEntry<>(seq, now.toEpochMilli(), by, caller, events));
      unjournaled.clear();
    }
  }

  private List<Event> all() {
    List<Event> all = new ArrayList<>(journal());
    all.addAll(unjournaled);
    return all;
  }

  private RunState fold() {
    RunState folded = RunState.NONE;
    for (Event event : journal()) {
      folded = folded.apply(event);
    }
    return folded;
  }
}

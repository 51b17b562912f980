package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.World;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The machine that runs one version of a flow.
 *
 * <p>It holds no state of its own, so one instance serves any number of runs at once.
 */
public final class FlowProgram<S extends Record>
    implements Program<RunState, Input, Event, StepEffect, Input.Result, World> {
  static final Place BEGINNING = new Place(Flow.START, 1);

  private final Flow<S> flow;
  private final Limits limits;
  private final Graph graph;
  private final PendingEffects wanted;
  private final PauseReport pauses;
  private final ActionRunner actions;
  private final Migrations migrations;
  private final CallerInputs callers;

  /** The program of a flow. */
  public static <S extends Record> FlowProgram<S> of(Flow<S> flow, Limits limits) {
    return new FlowProgram<>(flow, limits);
  }

  private FlowProgram(Flow<S> flow, Limits limits) {
    this.flow = flow;
    this.limits = limits;
    this.graph = flow.graph();
    this.wanted = new PendingEffects(graph);
    this.pauses = new PauseReport();
    this.actions = new ActionRunner(graph, flow.secretFields());
    this.migrations = new Migrations(flow);
    this.callers = new CallerInputs(this, limits);
  }

  public Flow<S> flow() {
    return flow;
  }

  @Override
  public RunState initial() {
    return RunState.NONE;
  }

  @Override
  public RunState apply(RunState state, List<Event> events, long seq) {
    return state.apply(events);
  }

  @Override
  public Acceptance<RunState, Event> accept(RunState state, Input input) {
    if (input instanceof Input.Start start) {
      return callers.start(state, start);
    }
    Outcome.Failure gone = gone(state, input);
    if (gone != null) {
      return new Refused<>(gone);
    }
    if (input instanceof Input.Continue next) {
      return callers.proceed(state, next);
    } else if (input instanceof Input.Again again) {
      return callers.again(state, again);
    } else if (input instanceof Input.Reset reset) {
      return callers.reset(state, reset);
    } else if (input instanceof Input.Postpone postpone) {
      return CallerInputs.postpone(state, postpone);
    } else if (input instanceof Input.Cancel cancel) {
      return callers.cancel(state, cancel);
    } else if (input instanceof Input.Signal signal) {
      return callers.signal(state, signal);
    } else if (input instanceof Input.Resolve resolve) {
      return callers.resolve(state, resolve);
    } else if (input instanceof Input.Unattended unattended) {
      return unattended(state, unattended);
    } else if (input instanceof Input.EffectEnded ended) {
      return effectEnded(state, ended);
    } else if (input instanceof Input.EffectDue due) {
      return effectDue(state, due);
    }
    return recovered(state, (Input.Recovered) input);
  }

  /** Whether it takes over runs that are on the given version. */
  public boolean migratesFrom(int version) {
    return migrations.from(version);
  }

  /**
   * Takes over a run that is on another version. What it waited for is asked again, as this version
   * asks it; answers that were accepted stand.
   */
  public Acceptance<RunState, Event> migrate(RunState state, long at) {
    return expired(state, at)
        ? new Refused<>(Outcome.Failure.of(ErrorCode.RUN_EXPIRED).open(open(state)))
        : takeOver(state, at);
  }

  /** The same when nobody calls, but its time has come: one that has expired by then ends. */
  public Acceptance<RunState, Event> takeOver(RunState state, long at) {
    try {
      Drive drive = new Drive(flow, limits, state, at);
      migrations.carry(state, limits, at).forEach(drive::emit);
      return expired(state, at) ? expire(drive) : drive.accepted();
    } catch (Migrations.Unfit e) {
      Throwable cause = e.getCause();
      return new Refused<>(
          Outcome.Failure.of(ErrorCode.MIGRATION_FAILED, unfit(state, e)).open(open(state)),
          cause == null ? List.of() : List.of(cause));
    }
  }

  /** What the nodes and fields of a version are called in this one. */
  EventNames names(int version) {
    return migrations.names(version);
  }

  /**
   * What happens to a run before this version can continue it that other code has brought to where
   * it is: it is carried over, or nothing if there is no migration and it fits as it is.
   *
   * @throws Migrations.Unfit if it cannot continue it
   */
  List<Event> carried(RunState state, long at) {
    if (migratesFrom(state.version())) {
      return migrations.carry(state, limits, at);
    }
    requireFits(state);
    return List.of();
  }

  /**
   * Checks that this version can continue a run as if it had brought it to where it is.
   *
   * @throws Migrations.Unfit if it cannot
   */
  void requireFits(RunState state) {
    boolean own =
        state.version() == flow.version() && state.fingerprint().equals(flow.fingerprint());
    if (own) {
      return;
    }
    migrations.requireFits(state, limits);
  }

  /**
   * Continues a run that was just forked from another one: with changed answers, and with what the
   * other one was doing. What is asked for now is answered, be it as in an earlier pass of a loop.
   * Of the rest, an answer that was given before is corrected, and any other is given early.
   *
   * @param state its state after {@link Event.ForkedFrom}
   */
  public Acceptance<RunState, Event> fork(RunState state, ObjectNode answers, long at) {
    return callers.fork(state, answers, at);
  }

  /** What a run does by itself that was read up to an event within a step. */
  Accepted<RunState, Event> onward(RunState state, long at) {
    return state.running()
        ? new Drive(flow, limits, state, at).accepted()
        : new Accepted<>(List.of());
  }

  private String unfit(RunState state, Migrations.Unfit e) {
    return "The run is on %s version %s and cannot be carried over to version %s, because %s. %s."
        .formatted(
            flow.id(),
            state.version(),
            flow.version(),
            e.getMessage(),
            ErrorCode.MIGRATION_FAILED.repair());
  }

  @Override
  public Next<StepEffect> next(RunState state) {
    if (!state.running()) {
      return new Finish<>(ended(state));
    }
    List<StepEffect> effects = wanted.of(state);
    if (state.works()) {
      return new Perform<>(effects);
    }
    StepEffect expiry = expiry(state);
    List<StepEffect> timers = expiry == null ? effects : RunState.plus(effects, expiry);
    return new Pause<>(pauses.pause(state), timers, pauses.until(state));
  }

  /**
   * What a run continues with by itself that has paused; null if it waits. One that stopped at the
   * visit limit of a call continues where nobody will call again. A caller who joined the work is
   * the first to see its outcome.
   *
   * @param callsAgain whether a caller waits who will call again where the run stops
   */
  public @Nullable Input continuesAlone(
      RunState state, Outcome outcome, boolean callsAgain, long at) {
    boolean continues =
        outcome instanceof Outcome.Failure failure
            ? !callsAgain && failure.code().equals(ErrorCode.VISIT_LIMIT.wireName())
            : callsAgain && unseen(state);
    return continues ? new Input.Continue(Json.object(), at) : null;
  }

  /** Whether a call without updates might pass what is open, and no caller has got that yet. */
  public boolean unseen(RunState state) {
    return new Drive(flow, limits, state, 0).showsUnseen();
  }

  @Override
  public CompletionStage<Input.Result> perform(RunState state, StepEffect effect, World world) {
    return actions.perform(state, effect, world);
  }

  @Override
  public Input.Failed failed(StepEffect effect, Throwable thrown) {
    return ActionRunner.failed(effect, thrown);
  }

  @Override
  public Input.Failed timedOut(StepEffect effect) {
    return new Input.Failed(
        ErrorCode.STEP_TIMEOUT,
        "The step " + effect.place().undone().node() + " took longer than it may.",
        "no result within " + effect.policy().timeout(),
        null);
  }

  @Override
  public Input completed(StepEffect effect, Input.Result result, long at) {
    return new Input.EffectEnded(effect, result, at);
  }

  @Override
  public Input due(StepEffect timer, long at) {
    return new Input.EffectDue(timer, at);
  }

  // --- effects --------------------------------------------------------------------------------

  private Acceptance<RunState, Event> effectEnded(RunState state, Input.EffectEnded ended) {
    StepEffect effect = ended.effect();
    Drive drive = new Drive(flow, limits, state, ended.at());
    if (effect.kind() == StepEffect.Kind.REMIND) {
      return wanted.running(state, effect)
          ? reminded(drive, effect, ended)
          : new Accepted<>(List.of());
    }
    boolean lateFailure =
        ended.result() instanceof Input.Failed && PendingEffects.waits(state, effect);
    if (!wanted.running(state, effect) || lateFailure) {
      return new Accepted<>(List.of());
    }
    drive.attempts().ended(effect, ended.result());
    return drive.accepted();
  }

  private Acceptance<RunState, Event> reminded(
      Drive drive, StepEffect effect, Input.EffectEnded ended) {
    String failure = ended.result() instanceof Input.Failed failed ? failed.message() : null;
    if (ended.result() instanceof Input.Wrote wrote) {
      try {
        drive.attempts().tag(effect, wrote);
      } catch (StepException tooMany) {
        failure = tooMany.getMessage();
      }
    }
    Node.Waiting<?> waiting = TypedPlace.of(drive.state(), effect.place(), graph).waiting();
    int number = Integer.parseInt(Objects.requireNonNull(effect.field()));
    Duration every = waiting.every();
    Long next =
        every == null || number >= waiting.reminders() ? null : ended.at() + every.toMillis();
    drive.emit(new Event.Reminded(effect.place(), number, failure, next));
    return new Accepted<>(drive.events());
  }

  private Acceptance<RunState, Event> effectDue(RunState state, Input.EffectDue due) {
    StepEffect effect = due.effect();
    if (effect.kind() == StepEffect.Kind.EXPIRE) {
      return effect.equals(expiry(state))
          ? expire(new Drive(flow, limits, state, due.at()))
          : new Accepted<>(List.of());
    }
    if (!effect.timer() || !wanted.of(state).contains(effect)) {
      return new Accepted<>(List.of());
    }
    Place place = effect.place();
    Drive drive = new Drive(flow, limits, state, due.at());
    switch (effect.kind()) {
      case SLEEP -> drive.emit(new Event.Woken(place, due.at()));
      case DEADLINE ->
          drive.emit(new Event.DeadlinePassed(place, lateTarget(state, place), due.at()));
      case REMIND -> drive.emit(new Event.Reminding(place, effect.attempt(), 1, due.at()));
      default -> drive.attempts().begin(place, effect.field(), effect.attempt() + 1);
    }
    return drive.accepted();
  }

  /** Undoes what the run did, as a cancellation does; the flow is notified last. */
  private Acceptance<RunState, Event> expire(Drive drive) {
    RunState state = drive.state();
    List<Place> undo = new ArrayList<>(new Forks(drive).undoable((place, tick) -> true));
    if (flow.compensations().containsKey(Flow.START) && !state.sandboxed()) {
      undo.add(BEGINNING);
    }
    boolean atOnce = undo.isEmpty() && state.undoing().isEmpty();
    drive.emit(
        atOnce
            ? new Event.Expired(drive.at())
            : new Event.Ending(ErrorCode.RUN_EXPIRED, null, undo, drive.at()));
    return drive.accepted();
  }

  /** When an idle run ends that only a call can move. */
  @Nullable StepEffect expiry(RunState state) {
    Long expires = expiresAt(state);
    return expires == null
        ? null
        : new StepEffect(
            state.runId(),
            BEGINNING,
            StepEffect.Kind.EXPIRE,
            null,
            (int) state.tick(),
            expires,
            Policy.DEFAULT);
  }

  /**
   * When the run expires unless somebody touches it; null if it does not, as long as it works or a
   * moment that its author declared is still to come.
   */
  public @Nullable Long expiresAt(RunState state) {
    Duration expiry = flow.expiry();
    boolean standsStill =
        state.running()
            && state.ending() == null
            && !state.works()
            && !PendingEffects.continuesByItself(state);
    if (expiry == null || !standsStill) {
      return null;
    }
    long expires = state.changedAt() + expiry.toMillis();
    // The deadline of a place that stopped does not fire, but its author granted the time.
    for (PlaceState at : state.places().values()) {
      Long deadline = at.deadline();
      expires = deadline == null ? expires : Math.max(expires, deadline);
    }
    return expires;
  }

  private String lateTarget(RunState state, Place place) {
    TypedPlace<?> spot = TypedPlace.of(state, place, graph);
    return spot.step().scope().node(Objects.requireNonNull(spot.waiting().target()));
  }

  /** What follows from an event, from any source. */
  Accepted<RunState, Event> following(RunState state, Event event, long at) {
    Drive drive = new Drive(flow, limits, state, at);
    drive.emit(event);
    return drive.accepted();
  }

  /** A pause that is reached later is not given to the caller. */
  private Acceptance<RunState, Event> unattended(RunState state, Input.Unattended unattended) {
    return new Accepted<>(
        attended(state) ? List.of(new Event.Unattended(true, unattended.at())) : List.of());
  }

  /** Whether a call waits for the work of the run. */
  private static boolean attended(RunState state) {
    return state.called() && state.works();
  }

  /**
   * Restarts what a crash interrupted, and continues where a journal ends within a step. The call
   * that waited for it is lost.
   */
  private Acceptance<RunState, Event> recovered(RunState state, Input.Recovered recovered) {
    Drive drive = new Drive(flow, limits, state, recovered.at());
    if (attended(state)) {
      drive.emit(new Event.Unattended(false, recovered.at()));
    }
    wanted.of(state).stream()
        .filter(e -> !e.timer() && !recovered.running().contains(e.key()))
        .forEach(drive.attempts()::recover);
    return drive.accepted();
  }

  // --- what the outside sees ------------------------------------------------------------------

  private Outcome.@Nullable Failure gone(RunState state, Input input) {
    if (!state.running()) {
      return ended(state) instanceof Outcome.Failure failure
          ? failure
          : Outcome.Failure.of(ErrorCode.RUN_COMPLETED);
    }
    boolean call =
        input instanceof Input.Continue
            || input instanceof Input.Again
            || input instanceof Input.Reset
            || input instanceof Input.Resolve;
    return call && expired(state, input.at()) ? Outcome.Failure.of(ErrorCode.RUN_EXPIRED) : null;
  }

  /** Whether nobody has touched the run for longer than the flow allows. */
  public boolean expired(RunState state, long at) {
    Duration expiry = flow.expiry();
    // Asked for every call: most runs changed recently, and no wait matters then.
    boolean idle = expiry != null && at >= state.changedAt() + expiry.toMillis();
    Long expires = idle ? expiresAt(state) : null;
    return expires != null && at >= expires;
  }

  private static Outcome ended(RunState state) {
    return switch (state.status()) {
      case COMPLETED ->
          new Outcome.Complete(state.result(), state.reason(), Violation.first(state.refused()));
      case FAILED ->
          state.reason() == null
              ? Outcome.Failure.of(ErrorCode.RUN_FAILED)
              : Outcome.Failure.of(
                  ErrorCode.RUN_FAILED, ErrorCode.RUN_FAILED.explained(state.reason()));
      case CANCELLED -> Outcome.Failure.of(ErrorCode.RUN_CANCELLED);
      case EXPIRED -> Outcome.Failure.of(ErrorCode.RUN_EXPIRED);
      default -> Outcome.Failure.of(ErrorCode.UNKNOWN_RUN);
    };
  }

  /** What the run waits for, without what went wrong; null where it waits for nobody. */
  public @Nullable Outcome open(RunState state) {
    return pauses.open(state);
  }

  /** What stopped a run that pauses, if anything did, and what it waits for. */
  public Outcome now(RunState state) {
    return pauses.now(state);
  }
}

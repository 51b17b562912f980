package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.FieldScope;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fold;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.route.Facts;
import io.fermata.flow.route.Route;
import io.fermata.flow.route.Rules;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One input's way through the graph: it emits events and folds them as it goes, until every place
 * waits for somebody or something. Lives for one call of {@link FlowProgram#accept}.
 */
final class Drive {

  private final Graph graph;
  private final Flow<?> flow;
  private final Limits limits;
  private final RunState before;
  private final long at;
  private final List<Event> events = new ArrayList<>();
  private final List<Throwable> thrown = new ArrayList<>();
  private final Forks forks;
  private final EffectAttempts attempts;
  private final OpenQuestions questions;
  private final SubflowEntry nesting;
  private RunState state;
  private @Nullable Tried tried;
  private @Nullable Shown shown;

  /** An event whose consequence is known before it is emitted. */
  private record Tried(Event event, RunState before, RunState after) {}

  /** What a state shows. */
  private record Shown(RunState state, @Nullable Place place) {}

  Drive(Flow<?> flow, Limits limits, RunState state, long at) {
    this.flow = flow;
    this.graph = flow.graph();
    this.limits = limits;
    this.before = state;
    this.state = state;
    this.at = at;
    this.forks = new Forks(this);
    this.attempts = new EffectAttempts(this, flow);
    this.questions = new OpenQuestions(this);
    this.nesting = new SubflowEntry(this);
  }

  EffectAttempts attempts() {
    return attempts;
  }

  OpenQuestions questions() {
    return questions;
  }

  RunState before() {
    return before;
  }

  RunState state() {
    return state;
  }

  Graph graph() {
    return graph;
  }

  long at() {
    return at;
  }

  @SuppressWarnings("ReferenceEquality") // this very event was tried
  void emit(Event event) {
    state =
        tried != null && tried.event == event && tried.before == state
            ? tried.after
            : state.apply(event);
    events.add(event);
  }

  /** What the state would be after an event, which may then be emitted. */
  private RunState tried(Event event) {
    tried = new Tried(event, state, state.apply(event));
    return tried.after;
  }

  /** Emits either all that this emits, or nothing if it throws. */
  void together(Runnable emits) {
    RunState known = state;
    int count = events.size();
    try {
      emits.run();
    } catch (Throwable e) {
      state = known;
      events.subList(count, events.size()).clear();
      throw e;
    }
  }

  List<Event> events() {
    return List.copyOf(events);
  }

  PlaceState at(Place place) {
    return state.at(place);
  }

  /** The widget that is shown: every place asks for it, and few change it. */
  @SuppressWarnings("ReferenceEquality") // most places leave the state as it is
  @Nullable Place shown() {
    Shown known = shown;
    if (known == null || known.state != state) {
      known = new Shown(state, state.shown());
      shown = known;
    }
    return known.place;
  }

  TypedPlace<?> spot(Place place) {
    return TypedPlace.of(state, place, graph);
  }

  // --- what a call gives ----------------------------------------------------------------------

  /**
   * Whether a call without new answers moves anything: it retries a failed step, or passes a
   * widget.
   *
   * @param passes whether the call carries no values at all
   */
  boolean canGoOn(boolean passes) {
    return !retriable().isEmpty() || addressesWidget(passes) || unseen();
  }

  /** Whether the next call is the first to see what it might pass. */
  boolean showsUnseen() {
    return addressesWidget(false) || unseen();
  }

  /** Whether a call is the first to see a question that it might have passed. */
  private boolean unseen() {
    for (PlaceState at : state.places().values()) {
      if (unseen(at)) {
        return true;
      }
    }
    return false;
  }

  boolean unseen(PlaceState at) {
    return at.phase() instanceof Phase.Asking asking
        && !asking.seen()
        && shown() == null
        && at.open().stream().anyMatch(Event.Question::optional);
  }

  /** Whether the call tries something again. */
  boolean retries() {
    return !retriable().isEmpty();
  }

  /** Whether a call passes the widget that is shown, or is the first to see it. */
  private boolean addressesWidget(boolean passes) {
    Place displayed = displayed();
    return displayed != null && (passes || !showing(displayed).seen());
  }

  /** The widget that is shown, if it needs no answer. */
  private @Nullable Place displayed() {
    Place place = shown();
    return place != null && showing(place).displayOnly() ? place : null;
  }

  private Phase.Showing showing(Place place) {
    return (Phase.Showing) at(place).phase();
  }

  /**
   * Gives a call's values to the run and wakes the places that may continue with them.
   *
   * @param left the fields of the questions that the call leaves open
   * @param passes whether the call passes a widget without a field, if its sender has seen it; one
   *     that carries values never does, as nobody has confirmed anything by it
   */
  void answered(Map<String, JsonNode> values, List<String> left, boolean passes) {
    Place displayed = displayed();
    List<Place> retriable = retriable();
    boolean seen = displayed != null && showing(displayed).seen();
    if (!values.isEmpty() || !left.isEmpty() || addressesWidget(passes) || unseen()) {
      Map<String, List<String>> recipients = new Recipients(graph, state).of(values.keySet());
      Place acknowledged = passes && seen ? displayed : null;
      List<String> leaves = left.isEmpty() ? null : left;
      emit(new Event.Answered(values, acknowledged, at, recipients, leaves));
    }
    retriable.forEach(place -> emit(new Event.Retried(place)));
  }

  /** What a call retries; a step whose outcome is unknown waits for a decision. */
  private List<Place> retriable() {
    List<Place> halted = halted();
    halted.removeIf(place -> PauseReport.unknown(at(place)));
    return halted;
  }

  private List<Place> halted() {
    List<Place> halted = new ArrayList<>();
    for (Place place : state.inOrder()) {
      if (at(place).phase() instanceof Phase.Halted) {
        halted.add(place);
      }
    }
    return halted;
  }

  /**
   * Goes back. What could not be undone is tried again, and branches resume that only stopped
   * because another one failed.
   */
  void reset(List<Event.Back> back, Map<String, JsonNode> corrected, List<Place> undo) {
    Map<String, List<String>> recipients = new Recipients(graph, state).of(corrected.keySet());
    emit(new Event.Reset(back, corrected, undo, at, recipients));
    for (Place place : halted()) {
      if (at(place).phase() instanceof Phase.Halted stopped
          && (place.undoes() || stopped.code() == ErrorCode.BRANCH_CANCELLED)) {
        emit(new Event.Retried(place));
      }
    }
  }

  // --- moving -------------------------------------------------------------------------------

  /** Drives until nothing moves any more. */
  @SuppressWarnings("ReferenceEquality") // whether anything has happened
  Program.Accepted<RunState, Event> accepted() {
    RunState joined = null;
    for (Place place : waiting()) {
      if (state.undoing().isEmpty() && waits(state.places().get(place))) {
        enter(place);
        while (state != joined && forks.joins()) {}
        joined = state;
      }
    }
    while (state.running() && advances()) {}
    return new Program.Accepted<>(events(), state, List.copyOf(thrown));
  }

  private List<Place> waiting() {
    List<Place> waiting = new ArrayList<>(0);
    state
        .places()
        .forEach(
            (place, there) -> {
              if (waits(there)) {
                waiting.add(place);
              }
            });
    return waiting;
  }

  private static boolean waits(@Nullable PlaceState there) {
    return there != null && there.phase() instanceof Phase.Waiting;
  }

  /**
   * Makes one step, whichever is due. What is to be undone goes before everything else. An early
   * end goes before a join, and a join before a move: neither waits for more than it has to.
   */
  private boolean advances() {
    if (!state.undoing().isEmpty()) {
      return undo(state.undoing().get(0).place());
    }
    RunState.Ending ending = state.ending();
    if (ending != null) {
      end(ending);
      return false;
    }
    return forks.settleFailures() || forks.breaksOff() || forks.joins() || move();
  }

  private boolean move() {
    for (Map.Entry<Place, PlaceState> entry : state.places().entrySet()) {
      Phase phase = entry.getValue().phase();
      if (phase instanceof Phase.Entering) {
        enter(entry.getKey());
        return true;
      } else if (phase instanceof Phase.Leaving leaving && leaving.to() != null) {
        move(entry.getKey(), leaving.to());
        return true;
      } else if (phase instanceof Phase.Leaving) {
        leave(entry.getKey());
        return true;
      } else if (phase instanceof Phase.Returning returning) {
        emit(new Event.Arrived(entry.getKey(), returning.result(), at));
        return true;
      }
    }
    return false;
  }

  private boolean undo(Place place) {
    Place undo = place.undo();
    if (!state.places().containsKey(undo)) {
      emit(new Event.Undoing(place, at));
    }
    if (!(at(undo).phase() instanceof Phase.Entering)) {
      return false;
    }
    attempts.begin(undo, null);
    return true;
  }

  private void end(RunState.Ending ending) {
    ErrorCode code = ending.code();
    if (code == null) {
      emit(new Event.Cancelled(at));
    } else if (code == ErrorCode.RUN_EXPIRED) {
      emit(new Event.Expired(at));
    } else {
      emit(new Event.Failed(code, Objects.requireNonNullElse(ending.message(), ""), at));
    }
  }

  private void enter(Place place) {
    enter(place, graph.step(place));
  }

  private <S extends Record> void enter(Place place, Step<S> step) {
    Node<S> node = step.node();
    TypedPlace<S> spot = new TypedPlace<>(state, place, step);
    if (step.closes() != null) {
      closed(place, step);
    } else if (node == null && step.scope().each()) {
      nesting.openItem(place, step.scope());
    } else if (node == null) {
      leave(place);
    } else if (node instanceof Node.Ask<S> ask) {
      questions.ask(spot, ask);
    } else if (node instanceof Node.Show<S> show) {
      questions.show(spot, show);
    } else if (node instanceof Node.Act) {
      attempts.begin(place, null);
    } else if (node instanceof Node.Compute<S> compute) {
      compute(spot, compute);
    } else if (node instanceof Node.Sleep<S> sleep) {
      sleep(spot, sleep);
    } else if (node instanceof Node.Await<S> await) {
      await(spot, await);
    } else if (node instanceof Node.Mount<S, ?> mount) {
      nesting.open(spot, mount);
    } else {
      nesting.openEach(spot, (Node.Each<S, ?>) node);
    }
  }

  private void closed(Place place, Step<?> step) {
    FieldScope<?> closes = Objects.requireNonNull(step.closes());
    if (closes.parent() == null) {
      complete(place);
    } else if (closes.each()) {
      nesting.closeItem(place, closes);
    } else {
      nesting.close(place, step, closes);
    }
  }

  /** Computes within the step; the place stops if the result cannot be had or kept. */
  private <S extends Record> void compute(TypedPlace<S> spot, Node.Compute<S> compute) {
    Place place = spot.place();
    try {
      List<Write> writes = SubflowEntry.writes(spot, compute.values().apply(spot.view()));
      List<String> reads = List.of(spot.step().scope().home(place));
      Event.Committed event =
          new Event.Committed(place, writes, reads, List.of(), spot.undoable(), null);
      String tooLarge = tooLarge(event, spot);
      if (tooLarge == null) {
        emit(event);
      } else {
        halt(place, Event.Resume.ENTERING, ErrorCode.STATE_TOO_LARGE, tooLarge, tooLarge);
      }
    } catch (Throwable e) {
      stop(place, Event.Resume.ENTERING, ErrorCode.STEP_FAILED, e);
    }
  }

  // --- waiting --------------------------------------------------------------------------------

  private <S extends Record> void sleep(TypedPlace<S> spot, Node.Sleep<S> sleep) {
    try {
      Instant now = Instant.ofEpochMilli(at);
      long until = sleep.ends(spot.view(), now).toEpochMilli();
      if (until <= at) {
        leave(spot.place());
      } else {
        emit(new Event.Slept(spot.place(), until, at));
      }
    } catch (Throwable e) {
      stop(spot.place(), Event.Resume.ENTERING, ErrorCode.STEP_FAILED, e);
    }
  }

  private <S extends Record> void await(TypedPlace<S> spot, Node.Await<S> await) {
    Place place = spot.place();
    for (RunState.Signal signal : state.signals()) {
      if (signal.name().equals(await.signal())) {
        receive(spot, Signals.received(spot, await, signal.payload()));
        return;
      }
    }
    if (!(at(place).phase() instanceof Phase.Awaiting)) {
      try {
        emit(new Event.Awaited(place, await.signal(), waitLimits(spot), at));
      } catch (Throwable e) {
        stop(place, Event.Resume.ENTERING, ErrorCode.STEP_FAILED, e);
      }
    }
  }

  private void receive(TypedPlace<?> spot, Event.Received received) {
    try {
      Signals.requireFits(spot.step(), received.payload());
      requireKept(received, spot, "The signal " + received.signal());
      emit(received);
    } catch (Throwable e) {
      drop(spot.place(), received.signal(), e);
    }
  }

  /** A signal that cannot be kept must not stand in the way of the next one. */
  private void drop(Place place, String signal, Throwable cause) {
    caught(cause);
    emit(
        new Event.Stopped(
            place,
            Event.Resume.ENTERING,
            ErrorCode.STEP_FAILED,
            "The signal %s does not fit the state at %s and was dropped; another one is needed."
                .formatted(signal, place.node()),
            Failures.detail(cause),
            null,
            signal,
            at));
  }

  <S extends Record> Event.@Nullable WaitLimits waitLimits(TypedPlace<S> spot) {
    Node.Waiting<S> waiting = spot.waiting();
    Duration time = waiting.deadline() == null ? null : waiting.deadline().apply(spot.view());
    Duration every = waiting.every();
    return time == null && every == null
        ? null
        : new Event.WaitLimits(
            time == null ? null : Math.addExact(at, time.toMillis()),
            every == null ? null : Math.addExact(at, every.toMillis()));
  }

  // --- what can be kept -----------------------------------------------------------------------

  /** Refuses an event after which the state would be unreadable, or too large. */
  void requireKept(Event event, TypedPlace<?> spot, String what) {
    RunState after = tried(event);
    spot.now(after).requireReadable(state);
    if (tooLarge(after.memory(spot.place().branch()))) {
      throw new IllegalStateException(what + " makes the state too large");
    }
  }

  /** Why a step's writes make the state too large; null if they do not. Unreadable ones throw. */
  @Nullable String tooLarge(Event.Committed event, TypedPlace<?> spot) {
    RunState after = tried(event);
    try {
      spot.now(after).requireReadable(state);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Step %s writes what the state cannot hold: %s".formatted(event.place(), e.getMessage()),
          e);
    }
    return !event.writes().isEmpty() && tooLarge(after.memory(event.place().branch()))
        ? "The step %s would make the state larger than %s bytes."
            .formatted(event.place().node(), limits.stateBytes())
        : null;
  }

  private boolean tooLarge(StateMemory memory) {
    return memory.bytes() > limits.stateBytes();
  }

  // --- moving on ------------------------------------------------------------------------------

  void leave(Place place) {
    Step<?> step = graph.step(place);
    Route route = step.route();
    if (route == null) {
      throw new IllegalStateException("Nothing leads out of " + place.node() + " in " + flow);
    }
    if (route instanceof Route.Edge edge) {
      move(place, step.scope().node(edge.to()));
      return;
    }
    boolean all = route instanceof Route.Fork;
    Rules.Found found = decide(place, step.scope(), route.rules(), all);
    if (found == null) {
      return;
    }
    if (route instanceof Route.Fork fork) {
      forks.fork(place, step.scope(), fork, found);
    } else {
      String otherwise = ((Route.Choice) route).otherwise();
      String target = found.targets().isEmpty() ? otherwise : found.targets().get(0);
      emit(new Event.Decided(place, found.tried(), List.of(target)));
      move(place, step.scope().node(target));
    }
  }

  /** Tries the rules; null if one of them failed, so that the place had to stop. */
  private Rules.@Nullable Found decide(
      Place place, FieldScope<?> scope, List<Route.Rule> rules, boolean all) {
    Facts facts = new PlaceFacts(state, place, scope);
    Rules.Found found =
        all ? Rules.all(rules, facts, scope.schema()) : Rules.first(rules, facts, scope.schema());
    if (found.failure() == null) {
      return found;
    }
    emit(new Event.Decided(place, found.tried(), List.of()));
    stop(place, Event.Resume.LEAVING, ErrorCode.DECISION_FAILED, found.failure());
    return null;
  }

  /** Moves to a step, or arrives at the join that the branch leads to. */
  void move(Place place, String target) {
    if (forks.arrives(place, target)) {
      emit(new Event.Arrived(place, null, at));
    } else if (mayVisit(place, 1)) {
      Place to = new Place(place.branch(), target, visits(place.branch(), target) + 1);
      emit(new Event.Moved(place, to, graph.step(target).asks(), at));
    }
  }

  /** Skips a list without items. */
  void passBy(Place list) {
    forks.passBy(list);
  }

  /** What was known where the run forked. */
  ObjectNode asForked(Place fork) {
    Branch branch = state.branch(fork.branch());
    Branch.Checkpoint checkpoint = branch.entered().get(Fold.forkPoint(fork.node()));
    return (checkpoint == null ? branch.memory() : checkpoint.memory()).data();
  }

  private int visits(String branch, String node) {
    return state.branch(branch).visits(node);
  }

  /** Whether so many more nodes may be entered; else the place stops. */
  boolean mayVisit(Place place, int nodes) {
    if (state.visitsInRun() + nodes > limits.visitsPerRun()) {
      bounded(place, ErrorCode.RUN_LIMIT, limits.visitsPerRun());
      return false;
    } else if (state.visitsInCall() > 0 && state.visitsInCall() + nodes > limits.visitsPerCall()) {
      bounded(place, ErrorCode.VISIT_LIMIT, limits.visitsPerCall());
      return false;
    }
    return true;
  }

  private void bounded(Place place, ErrorCode code, int limit) {
    halt(place, Event.Resume.LEAVING, code, code.cause() + " (" + limit + ").", "");
  }

  private void complete(Place place) {
    try {
      emit(new Event.Completed(result(spot(place)), state.reason(), at));
    } catch (Throwable e) {
      stop(place, Event.Resume.ENTERING, ErrorCode.RESULT_FAILED, e);
    }
  }

  /** What the flow of a place returns. */
  static <S extends Record> @Nullable JsonNode result(TypedPlace<S> spot) {
    Function<S, ?> mapper = spot.step().scope().flow().result();
    return mapper == null ? null : Json.tree(mapper.apply(spot.view()));
  }

  void stop(Place place, Event.Resume resume, ErrorCode code, Throwable cause) {
    stop(place, null, resume, code, cause);
  }

  void stop(
      Place place, @Nullable String field, Event.Resume resume, ErrorCode code, Throwable cause) {
    caught(cause);
    String message = StepFailures.message(place, field, code, cause);
    halt(place, field, resume, code, message, Failures.detail(cause));
  }

  /** Reports what an author's code has thrown, unless the process must not survive it. */
  void caught(Throwable cause) {
    Failures.rethrowFatal(cause);
    thrown.add(cause);
  }

  void halt(Place place, Event.Resume resume, ErrorCode code, String message, String detail) {
    halt(place, null, resume, code, message, detail);
  }

  void halt(
      Place place,
      @Nullable String field,
      Event.Resume resume,
      ErrorCode code,
      String message,
      String detail) {
    emit(new Event.Stopped(place, resume, code, message, detail, field, null, at));
  }
}

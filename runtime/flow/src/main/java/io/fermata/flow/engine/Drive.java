package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.FieldScope;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.Step;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fold;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RecordedResult;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Texts;
import io.fermata.flow.route.Facts;
import io.fermata.flow.route.Route;
import io.fermata.flow.route.Rules;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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
  private static final String CRASHED = "the process ended during attempt ";
  private static final int LONGEST_INPUT = 1_000;
  private static final String DISCARDED = "ran, but its outcome could not be kept";

  private final Graph graph;
  private final Flow<?> flow;
  private final Limits limits;
  private final RunState before;
  private final long at;
  private final List<Event> events = new ArrayList<>();
  private final List<Throwable> thrown = new ArrayList<>();
  private final Forks forks;
  private final SubflowEntry nesting;
  private RunState state;
  private @Nullable Tried tried;

  /** An event whose consequence is known before it is emitted. */
  private record Tried(Event event, RunState before, RunState after) {}

  Drive(Flow<?> flow, Limits limits, RunState state, long at) {
    this.flow = flow;
    this.graph = flow.graph();
    this.limits = limits;
    this.before = state;
    this.state = state;
    this.at = at;
    this.forks = new Forks(this);
    this.nesting = new SubflowEntry(this);
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

  private boolean unseen(PlaceState at) {
    return at.phase() instanceof Phase.Asking asking
        && !asking.seen()
        && state.shown() == null
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
    Place shown = state.shown();
    return shown != null && showing(shown).displayOnly() ? shown : null;
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

  /** Goes back, and resumes branches that only stopped because another one failed. */
  void reset(List<Event.Back> back, Map<String, JsonNode> corrected, List<Place> undo) {
    Map<String, List<String>> recipients = new Recipients(graph, state).of(corrected.keySet());
    emit(new Event.Reset(back, corrected, undo, at, recipients));
    for (Place place : halted()) {
      if (at(place).phase() instanceof Phase.Halted stopped
          && stopped.code() == ErrorCode.BRANCH_CANCELLED) {
        emit(new Event.Retried(place));
      }
    }
  }

  // --- moving -------------------------------------------------------------------------------

  /** Drives until nothing moves any more. */
  Program.Accepted<Event> accepted() {
    for (Place place : List.copyOf(state.places().keySet())) {
      if (state.undoing().isEmpty() && waits(place)) {
        enter(place);
        while (forks.joins()) {}
      }
    }
    while (state.running() && advances()) {}
    return new Program.Accepted<>(events(), List.copyOf(thrown));
  }

  /** Whether a place waits for somebody, who may have said something by now. */
  private boolean waits(Place place) {
    PlaceState there = state.places().get(place);
    return there != null
        && (there.phase() instanceof Phase.Asking
            || there.phase() instanceof Phase.Showing
            || there.phase() instanceof Phase.Awaiting);
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
      } else if (phase instanceof Phase.Leaving leaving) {
        leave(entry.getKey(), leaving.to());
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
    attempt(undo, null);
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
      leave(place, null);
    } else if (node instanceof Node.Ask<S> ask) {
      ask(spot, ask);
    } else if (node instanceof Node.Show<S> show) {
      show(spot, show);
    } else if (node instanceof Node.Act) {
      attempt(place, null);
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

  private void attempt(Place place, @Nullable String field) {
    attempt(place, field, at(place).attempts() + 1);
  }

  /** Begins an effect; in a fork of another run, its result may be known from there. */
  void attempt(Place place, @Nullable String field, int number) {
    RunState.Fork fork = state.fork();
    RecordedResult known =
        fork == null || place.undoes()
            ? null
            : fork.result(place, field, state.memory(place.branch()).data());
    emit(new Event.Attempted(place, field, number, at));
    if (known != null) {
      repeat(working(place), known);
    } else if (fork != null && fork.sandboxed() && !place.undoes()) {
      String message = sandboxed(place, field);
      emit(
          new Event.Stopped(
              place, Event.Resume.WORKING, ErrorCode.SANDBOXED, message, "", field, null));
    }
  }

  private StepEffect working(Place place) {
    return new PendingEffects(graph)
        .of(state).stream()
            .filter(effect -> effect.place().equals(place) && ofStep(effect))
            .findFirst()
            .orElseThrow();
  }

  private static boolean ofStep(StepEffect effect) {
    return effect.kind() == StepEffect.Kind.ACT || effect.kind() == StepEffect.Kind.CHECK;
  }

  /** The effect and its input, for the one who forked the run. */
  private String sandboxed(Place place, @Nullable String field) {
    TypedPlace<?> spot = TypedPlace.of(state, place, graph);
    ObjectNode input = Json.object();
    if (field != null) {
      input.set(field, Paths.get(state.memory(place.branch()).data(), field));
    } else if (spot.step().node() instanceof Node.Act<?> act && !act.reads().isEmpty()) {
      act.reads().forEach(read -> input.set(read, Paths.get(spot.data(), read)));
    } else {
      input.setAll(spot.data());
    }
    SecretFields fields = flow.secretFields();
    Secrets secrets = new Secrets();
    secrets.learn(fields, state);
    String home = field == null ? spot.step().scope().home(place) : "";
    JsonNode masked = secrets.masked(fields.masked(home, input));
    return "The fork asked for "
        + (field == null ? "the step " : "the check of an answer in ")
        + place.node()
        + " with "
        + Texts.shortened(Json.text(masked), LONGEST_INPUT)
        + ", which was not performed: the run is in a sandbox, and its source has no result of it.";
  }

  /** Repeats the result of an effect. What happened elsewhere is not undone by this run. */
  private void repeat(StepEffect effect, RecordedResult known) {
    Place place = effect.place();
    Tagging tagging = Tagging.NONE;
    for (Event event : known.events()) {
      if (event instanceof Event.Tagged e) {
        tagging = new Tagging(e.added(), e.removed());
      } else if (event instanceof Event.Committed e) {
        ended(
            effect, new Input.Wrote(e.writes(), e.reads(), e.emitted(), tagging, e.ends()), false);
      } else if (event instanceof Event.Accepted e) {
        emit(new Event.Accepted(place, e.field(), e.value(), e.sets()));
      } else if (event instanceof Event.Rejected e) {
        emit(new Event.Rejected(place, e.field(), e.message()));
      } else if (event instanceof Event.AttemptFailed e) {
        ended(effect, new Input.Failed(e.code(), e.message(), e.detail(), null), false);
      } else if (event instanceof Event.Stopped e) {
        emit(
            new Event.Stopped(
                place, e.resume(), e.code(), e.message(), e.detail(), e.field(), null));
      }
    }
  }

  /** Computes within the step; the place stops if the result cannot be had or kept. */
  private <S extends Record> void compute(TypedPlace<S> spot, Node.Compute<S> compute) {
    Place place = spot.place();
    try {
      List<Write> writes = new ArrayList<>();
      compute
          .values()
          .apply(spot.view())
          .forEach((field, value) -> writes.add(SubflowEntry.write(spot, field, value)));
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

  // --- asking ---------------------------------------------------------------------------------

  private <S extends Record> void ask(TypedPlace<S> spot, Node.Ask<S> ask) {
    Place place = spot.place();
    for (Node.Question<S> q = unjudged(spot, ask); q != null; q = unjudged(spot, ask)) {
      if (q.check() instanceof Node.Async) {
        attempt(place, spot.path(q.field()));
        if (!judged(place)) {
          return;
        }
        continue;
      }
      if (!check(spot, q.field(), q.check())) {
        return;
      }
    }
    List<Node.Question<S>> open =
        ask.questions().stream()
            .filter(q -> !at(place).accepted().contains(spot.path(q.field())))
            .toList();
    if (open.stream().allMatch(question -> leftOpen(spot, question))) {
      pass(spot, open);
    } else if (!(at(place).phase() instanceof Phase.Asking)) {
      put(spot.now(state), ask, open);
    } else if (unseen(at(place)) && state.called()) {
      emit(new Event.Asked(place, at(place).open(), at(place).context(), null, at));
    }
  }

  /** Whether the result of a check is there already. */
  private boolean judged(Place place) {
    Phase phase = at(place).phase();
    return !(phase instanceof Phase.Working) && !(phase instanceof Phase.Halted);
  }

  private <S extends Record> boolean leftOpen(TypedPlace<S> spot, Node.Question<S> question) {
    Place place = spot.place();
    return question.optional()
        && state.memory(place.branch()).leftOpen(spot.path(question.field()), place.node());
  }

  /** Continues without answers to these questions. */
  private <S extends Record> void pass(TypedPlace<S> spot, List<Node.Question<S>> questions) {
    try {
      for (Node.Question<S> question : questions) {
        String path = spot.path(question.field());
        Event passed = new Event.Passed(spot.place(), path, question.byDefault());
        requireKept(passed, spot, "The default of " + path);
        emit(passed);
      }
    } catch (Throwable e) {
      stop(spot.place(), Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
      return;
    }
    leave(spot.place(), null);
  }

  /** The next question to judge; a verdict may answer questions before it, too. */
  private <S extends Record> Node.@Nullable Question<S> unjudged(
      TypedPlace<S> spot, Node.Ask<S> ask) {
    for (Node.Question<S> question : ask.questions()) {
      if (answered(spot.place(), spot.path(question.field()))) {
        return question;
      }
    }
    return null;
  }

  /** Whether a question has an answer of this pass that nobody has judged yet. */
  private boolean answered(Place place, String path) {
    PlaceState here = at(place);
    return !here.accepted().contains(path)
        && !here.rejected().containsKey(path)
        && state.memory(place.branch()).fresh(path, place.node());
  }

  /** Judges an answer within the step; false if the place had to stop. */
  private boolean check(TypedPlace<?> spot, String field, Node.@Nullable Check check) {
    String path = spot.path(field);
    if (check == null || check instanceof Node.Async) {
      emit(new Event.Accepted(spot.place(), path, null, Map.of()));
      return true;
    }
    try {
      JsonNode answer = Paths.get(state.memory(spot.place().branch()).data(), path);
      Object typed = spot.schema().value(field, answer);
      Verdict verdict =
          check instanceof Node.Quick quick
              ? quick.validator().check(Objects.requireNonNull(typed))
              : ((Node.Cross) check)
                  .validator()
                  .check(spot.now(state).view(), Objects.requireNonNull(typed));
      emit(judged(spot, path, verdict));
      return true;
    } catch (Throwable e) {
      stop(spot.place(), path, Event.Resume.ENTERING, ErrorCode.VALIDATOR_FAILED, e);
      return false;
    }
  }

  private Event judged(TypedPlace<?> spot, String path, Verdict verdict) {
    if (verdict instanceof Verdict.Rejected rejected) {
      return new Event.Rejected(spot.place(), path, rejected.message());
    }
    Verdict.Accepted accepted = (Verdict.Accepted) verdict;
    String field = path;
    try {
      JsonNode value = accepted.normalised() == null ? null : Json.tree(accepted.normalised());
      Map<String, JsonNode> sets = new LinkedHashMap<>();
      for (Map.Entry<String, Object> set : accepted.sets().entrySet()) {
        field = spot.path(set.getKey());
        spot.schema().requireWritable(set.getKey());
        sets.put(field, Json.tree(set.getValue()));
      }
      Event.Accepted event = new Event.Accepted(spot.place(), path, value, sets);
      requireKept(event, spot, "The verdict on " + path);
      return event;
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "The verdict on %s at %s, which gives %s a value: %s"
              .formatted(path, spot.place(), field, e.getMessage()),
          e);
    }
  }

  /** Refuses an event after which the state would be unreadable, or too large. */
  void requireKept(Event event, TypedPlace<?> spot, String what) {
    RunState after = tried(event);
    spot.now(after).requireReadable(state);
    requireFits(after, spot.place(), what);
  }

  /** Refuses an event after which the state would be too large. */
  void requireFits(Event event, Place place, String what) {
    requireFits(tried(event), place, what);
  }

  private void requireFits(RunState after, Place place, String what) {
    if (tooLarge(after.memory(place.branch()))) {
      throw new IllegalStateException(what + " makes the state too large");
    }
  }

  private <S extends Record> void put(
      TypedPlace<S> spot, Node.Ask<S> ask, List<Node.Question<S>> open) {
    try {
      List<Event.Question> questions = open.stream().map(q -> put(spot, q)).toList();
      String context = text(spot, ask.context());
      boolean again = !at(spot.place()).questions().isEmpty();
      Event.WaitLimits waitLimits = again ? null : waitLimits(spot);
      emit(new Event.Asked(spot.place(), questions, context, waitLimits, at));
    } catch (Throwable e) {
      stop(spot.place(), Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
    }
  }

  private static <S extends Record> Event.Question put(
      TypedPlace<S> spot, Node.Question<S> question) {
    List<String> suggestions = List.copyOf(question.suggestions().apply(spot.view()));
    if (suggestions.size() > Limits.SUGGESTIONS) {
      throw new IllegalStateException(
          "Question "
              + question.field()
              + " offers more than "
              + Limits.SUGGESTIONS
              + " suggestions");
    }
    return new Event.Question(
        spot.path(question.field()),
        Objects.requireNonNull(text(spot, question.text()), "The question has no text"),
        question.schema(spot.schema()),
        suggestions.stream().map(Texts::sound).toList(),
        text(spot, question.context()),
        question.optional());
  }

  private static <S extends Record> @Nullable String text(
      TypedPlace<S> spot, @Nullable Function<S, String> text) {
    String given = text == null ? null : text.apply(spot.view());
    return given == null ? null : Texts.sound(given);
  }

  // --- showing and waiting --------------------------------------------------------------------

  private <S extends Record> void show(TypedPlace<S> spot, Node.Show<S> show) {
    Place place = spot.place();
    String path = show.field() == null ? null : spot.path(show.field());
    if (path != null
        && answered(place, path)
        && !check(spot, Objects.requireNonNull(show.field()), show.check())) {
      return;
    }
    if (path != null && at(place).accepted().contains(path)) {
      leave(place, null);
    } else if (!(at(place).phase() instanceof Phase.Showing showing)) {
      putWidget(spot.now(state), show, false);
    } else if (showing.displayOnly()
        && !showing.seen()
        && state.called()
        && place.equals(state.shown())) {
      putWidget(spot, show, true);
    }
  }

  private <S extends Record> void putWidget(TypedPlace<S> spot, Node.Show<S> show, boolean again) {
    try {
      JsonNode data = show.data() == null ? null : Json.tree(show.data().apply(spot.view()));
      String path = show.field() == null ? null : spot.path(show.field());
      JsonNode schema = show.field() == null ? null : spot.schema().fieldSchema(show.field());
      Event.Widget widget = new Event.Widget(show.tool(), data, show.interactive(), path, schema);
      emit(new Event.Shown(spot.place(), widget, again ? null : waitLimits(spot), at));
    } catch (Throwable e) {
      stop(spot.place(), Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
    }
  }

  private <S extends Record> void sleep(TypedPlace<S> spot, Node.Sleep<S> sleep) {
    try {
      Instant now = Instant.ofEpochMilli(at);
      long until = sleep.until().apply(spot.view(), now).toEpochMilli();
      if (until <= at) {
        leave(spot.place(), null);
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
      requireKept(received, spot, "The signal " + received.signal());
      emit(received);
    } catch (Throwable e) {
      drop(spot.place(), received.signal(), e);
    }
  }

  /** A signal that cannot be kept must not stand in the way of the next one. */
  private void drop(Place place, String signal, Throwable cause) {
    Failures.rethrowFatal(cause);
    thrown.add(cause);
    emit(
        new Event.Stopped(
            place,
            Event.Resume.ENTERING,
            ErrorCode.STEP_FAILED,
            "The signal %s does not fit the state at %s and was dropped; another one is needed."
                .formatted(signal, place.node()),
            Failures.detail(cause),
            null,
            signal));
  }

  private <S extends Record> Event.@Nullable WaitLimits waitLimits(TypedPlace<S> spot) {
    Node.Waiting<S> waiting = spot.waiting();
    Duration time = waiting.deadline() == null ? null : waiting.deadline().apply(spot.view());
    Duration every = waiting.every();
    return time == null && every == null
        ? null
        : new Event.WaitLimits(
            time == null ? null : Math.addExact(at, time.toMillis()),
            every == null ? null : Math.addExact(at, every.toMillis()));
  }

  // --- effects --------------------------------------------------------------------------------

  void ended(StepEffect effect, Input.Result result) {
    ended(effect, result, true);
  }

  /**
   * @param own whether this run performed the effect, so that it may have to undo it
   */
  private void ended(StepEffect effect, Input.Result result, boolean own) {
    try {
      if (result instanceof Input.Failed failed) {
        failed(effect, failed);
      } else if (effect.kind() == StepEffect.Kind.UNDO) {
        if (result instanceof Input.Wrote wrote) {
          tag(effect, wrote);
        }
        emit(new Event.Undone(effect.place().undone()));
      } else if (result instanceof Input.Wrote wrote) {
        commit(effect, wrote, own);
      } else if (result instanceof Input.Judged judged && effect.field() != null) {
        TypedPlace<?> spot = TypedPlace.of(state, effect.place(), graph);
        emit(judged(spot, effect.field(), judged.verdict()));
      }
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      thrown.add(e);
      ErrorCode code = ErrorCode.ofFailed(effect);
      discarded(
          effect,
          code,
          StepFailures.message(effect.place(), effect.field(), code, e),
          Failures.detail(e));
    }
  }

  private void commit(StepEffect effect, Input.Wrote wrote, boolean own) {
    TypedPlace<?> spot = TypedPlace.of(state, effect.place(), graph);
    Event.Committed event =
        new Event.Committed(
            effect.place(),
            wrote.writes(),
            wrote.reads(),
            wrote.emitted(),
            own && spot.undoable(),
            wrote.ends());
    String tooLarge = tooLarge(event, spot);
    if (tooLarge != null) {
      discarded(effect, ErrorCode.STATE_TOO_LARGE, tooLarge, tooLarge);
      return;
    }
    tag(effect, wrote);
    emit(event);
  }

  /** Why a step's writes make the state too large; null if they do not. Unreadable ones throw. */
  private @Nullable String tooLarge(Event.Committed event, TypedPlace<?> spot) {
    RunState after = tried(event);
    spot.now(after).requireReadable(state);
    return !event.writes().isEmpty() && tooLarge(after.memory(event.place().branch()))
        ? "The step "
            + event.place().node()
            + " would make the state larger than "
            + limits.stateBytes()
            + " bytes."
        : null;
  }

  /** Branches that know nothing of each other may together give the run more than it can have. */
  void tag(StepEffect effect, Input.Wrote wrote) {
    Tagging tagging = wrote.tagged();
    if (!tagging.fits(state.tags())) {
      throw new StepException("The run would have more than " + Tagging.MOST + " tags.");
    }
    if (!tagging.none()) {
      requireOpenTags(tagging, wrote);
      emit(new Event.Tagged(effect.place(), tagging.added(), tagging.removed()));
    }
  }

  /** Tags are there to be found, so they are stored as they are. */
  private void requireOpenTags(Tagging tagging, Input.Wrote wrote) {
    SecretFields fields = flow.secretFields();
    Secrets secrets = new Secrets();
    secrets.learn(fields, state);
    secrets.writes(fields, wrote.writes());
    if (tagging.added().stream().anyMatch(secrets::in)) {
      throw new StepException(
          "A tag of the run has the value of a secret field in it, for everybody to find.");
    }
  }

  /** An effect succeeded, but what came of it cannot be kept. */
  private void discarded(StepEffect effect, ErrorCode code, String message, String detail) {
    if (effect.policy().once()) {
      emit(outcomeUnknown(effect.place(), DISCARDED, detail));
    } else {
      halt(effect.place(), Event.Resume.WORKING, code, message, detail);
    }
  }

  private boolean tooLarge(StateMemory memory) {
    return memory.bytes() > limits.stateBytes();
  }

  private void failed(StepEffect effect, Input.Failed failed) {
    Policy policy = effect.policy();
    String detail = failed.detail() == null ? "" : failed.detail();
    int tries = effect.attempt() - at(effect.place()).base();
    if (policy.once() && failed.code() == ErrorCode.STEP_TIMEOUT) {
      emit(interrupted(effect.place(), detail));
    } else if (tries < policy.retry().attempts()) {
      long due = at + policy.retry().after(tries).toMillis();
      emit(
          new Event.AttemptFailed(
              effect.place(), effect.attempt(), failed.code(), failed.message(), detail, due));
    } else {
      halt(effect.place(), Event.Resume.WORKING, failed.code(), failed.message(), detail);
    }
  }

  /** Attempts that were running when the process ended are lost, or their outcome is unknown. */
  void recover(StepEffect effect) {
    Place place = effect.place();
    PlaceState.Reminder reminder = at(place).reminder();
    if (effect.kind() == StepEffect.Kind.REMIND && reminder != null) {
      emit(new Event.Reminding(place, reminder.number(), reminder.attempt() + 1, at));
    } else if (effect.policy().once()) {
      emit(interrupted(place, CRASHED + effect.attempt()));
    } else {
      emit(new Event.Attempted(place, effect.field(), effect.attempt() + 1, at));
    }
  }

  /** Whether a once step stopped because a crash interrupted it. */
  static boolean ofCrash(Event.Stopped stopped) {
    return stopped.code() == ErrorCode.OUTCOME_UNKNOWN && stopped.detail().startsWith(CRASHED);
  }

  /** Whether a once step stopped because its outcome could not be kept. */
  static boolean ofDiscarded(Event.Stopped stopped) {
    return stopped.code() == ErrorCode.OUTCOME_UNKNOWN && stopped.message().contains(DISCARDED);
  }

  private static Event.Stopped interrupted(Place place, String detail) {
    return outcomeUnknown(place, "was interrupted; whether it happened is not known", detail);
  }

  private static Event.Stopped outcomeUnknown(Place place, String what, String detail) {
    return new Event.Stopped(
        place,
        Event.Resume.WORKING,
        ErrorCode.OUTCOME_UNKNOWN,
        "The step " + place.undone().node() + " may run only once and " + what + ".",
        detail);
  }

  // --- moving on ------------------------------------------------------------------------------

  private void leave(Place place, @Nullable String settled) {
    Step<?> step = graph.step(place);
    if (settled != null) {
      move(place, settled);
      return;
    }
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
      emit(new Event.Completed(result(TypedPlace.of(state, place, graph)), state.reason(), at));
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

  private void stop(
      Place place, @Nullable String field, Event.Resume resume, ErrorCode code, Throwable cause) {
    Failures.rethrowFatal(cause);
    thrown.add(cause);
    String message = StepFailures.message(place, field, code, cause);
    emit(new Event.Stopped(place, resume, code, message, Failures.detail(cause), field, null));
  }

  void halt(Place place, Event.Resume resume, ErrorCode code, String message, String detail) {
    emit(new Event.Stopped(place, resume, code, message, detail));
  }
}

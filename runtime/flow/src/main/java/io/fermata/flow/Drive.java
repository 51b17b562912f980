package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
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
final class Drive<S extends Record> {
  private final Flow<S> flow;
  private final Limits limits;
  private final RunState before;
  private final long at;
  private final List<Event> events = new ArrayList<>();
  private RunState state;
  private @Nullable S view;

  Drive(Flow<S> flow, Limits limits, RunState state, long at) {
    this.flow = flow;
    this.limits = limits;
    this.before = state;
    this.state = state;
    this.at = at;
  }

  RunState before() {
    return before;
  }

  RunState state() {
    return state;
  }

  @SuppressWarnings("ReferenceEquality") // the same tree means the same view, cheaply
  void emit(Event event) {
    events.add(event);
    RunState after = state.apply(event);
    if (after.data() != state.data()) {
      view = null;
    }
    state = after;
  }

  /** Whether a call without answers moves anything: a halted place, or a widget without a field. */
  boolean canGoOn() {
    return state.places().values().stream()
        .anyMatch(p -> p.phase() instanceof Phase.Halted || acknowledged(p.phase()));
  }

  private static boolean acknowledged(Phase phase) {
    return phase instanceof Phase.Showing showing && showing.widget().field() == null;
  }

  /** Gives a call's values to the run and wakes the places that may go on with them. */
  void answered(Map<String, JsonNode> values) {
    boolean acknowledges = state.places().values().stream().anyMatch(p -> acknowledged(p.phase()));
    List<Place> halted =
        state.places().keySet().stream()
            .filter(p -> at(p).phase() instanceof Phase.Halted)
            .toList();
    if (!values.isEmpty() || acknowledges) {
      emit(new Event.Answered(values, at));
    }
    halted.forEach(place -> emit(new Event.Retried(place)));
  }

  /** Goes on until nothing moves any more. */
  List<Event> run() {
    for (Place place : List.copyOf(state.places().keySet())) {
      Phase phase = at(place).phase();
      if (phase instanceof Phase.Asking || phase instanceof Phase.Showing) {
        enter(place);
      }
    }
    for (Place place = movable(); place != null; place = movable()) {
      if (at(place).phase() instanceof Phase.Leaving) {
        leave(place);
      } else {
        enter(place);
      }
    }
    return List.copyOf(events);
  }

  private @Nullable Place movable() {
    for (Map.Entry<Place, At> entry : state.places().entrySet()) {
      Phase phase = entry.getValue().phase();
      if (phase instanceof Phase.Entering || phase instanceof Phase.Leaving) {
        return entry.getKey();
      }
    }
    return null;
  }

  private void enter(Place place) {
    if (place.node().equals(Flow.END)) {
      complete(place);
      return;
    }
    Node<S> node = flow.nodes().get(place.node());
    if (node instanceof Node.Ask<S> ask) {
      ask(place, ask);
    } else if (node instanceof Node.Show<S> show) {
      show(place, show);
    } else {
      attempt(place, null);
    }
  }

  private void attempt(Place place, @Nullable String field) {
    emit(new Event.Attempted(place, field, at(place).attempts() + 1, at));
  }

  private At at(Place place) {
    At here = state.places().get(place);
    if (here == null) {
      throw new IllegalStateException("The run is not at " + place);
    }
    return here;
  }

  // --- asking ---------------------------------------------------------------------------------

  private void ask(Place place, Node.Ask<S> ask) {
    for (Node.Question<S> q = unjudged(place, ask); q != null; q = unjudged(place, ask)) {
      if (q.check() instanceof Node.Async) {
        attempt(place, q.field());
        return;
      }
      if (!check(place, q)) {
        return;
      }
    }
    List<Node.Question<S>> open =
        ask.questions().stream().filter(q -> !at(place).accepted().contains(q.field())).toList();
    if (open.isEmpty()) {
      leave(place);
    } else if (!(at(place).phase() instanceof Phase.Asking)) {
      put(place, ask, open);
    }
  }

  /** The next question to judge; a verdict may answer questions before it, too. */
  private Node.@Nullable Question<S> unjudged(Place place, Node.Ask<S> ask) {
    for (Node.Question<S> question : ask.questions()) {
      if (answered(place, question)) {
        return question;
      }
    }
    return null;
  }

  /** Whether a question has an answer of this pass that nobody has judged yet. */
  private boolean answered(Place place, Node.Question<S> question) {
    At here = at(place);
    return !here.accepted().contains(question.field())
        && !here.rejected().containsKey(question.field())
        && state.memory().fresh(question.field(), place.node());
  }

  /** Judges an answer within the step; false if the place had to stop. */
  private boolean check(Place place, Node.Question<S> question) {
    if (!(question.check() instanceof Node.Quick quick)) {
      emit(new Event.Accepted(place, question.field(), null, Map.of()));
      return true;
    }
    try {
      JsonNode answer = Paths.get(state.data(), question.field());
      Object typed = flow.schema().value(question.field(), answer);
      emit(judged(place, question.field(), quick.validator().check(Objects.requireNonNull(typed))));
      return true;
    } catch (Throwable e) {
      stop(place, Event.Resume.ENTERING, ErrorCode.VALIDATOR_FAILED, e);
      return false;
    }
  }

  private Event judged(Place place, String field, Verdict verdict) {
    if (verdict instanceof Verdict.Rejected rejected) {
      return new Event.Rejected(place, field, rejected.message());
    }
    Verdict.Accepted accepted = (Verdict.Accepted) verdict;
    JsonNode value = accepted.normalised() == null ? null : Json.tree(accepted.normalised());
    Map<String, JsonNode> sets = new LinkedHashMap<>();
    for (Map.Entry<String, Object> set : accepted.sets().entrySet()) {
      flow.schema().requireWritable(set.getKey());
      sets.put(set.getKey(), Json.tree(set.getValue()));
    }
    Event.Accepted event = new Event.Accepted(place, field, value, sets);
    ObjectNode data = state.apply(event).data();
    requireReadable(data);
    if (tooLarge(data)) {
      throw new IllegalStateException("The verdict on " + field + " makes the state too large");
    }
    return event;
  }

  private void put(Place place, Node.Ask<S> ask, List<Node.Question<S>> open) {
    try {
      List<Event.Question> questions = open.stream().map(this::put).toList();
      emit(new Event.Asked(place, questions, text(ask.context()), at));
    } catch (Throwable e) {
      stop(place, Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
    }
  }

  private Event.Question put(Node.Question<S> question) {
    List<String> suggestions = List.copyOf(question.suggestions().apply(view()));
    if (suggestions.size() > Limits.SUGGESTIONS) {
      throw new IllegalStateException(
          "Question "
              + question.field()
              + " offers more than "
              + Limits.SUGGESTIONS
              + " suggestions");
    }
    return new Event.Question(
        question.field(),
        Objects.requireNonNull(question.text().apply(view()), "The question has no text"),
        flow.schema().fieldSchema(question.field()),
        suggestions,
        text(question.context()));
  }

  private @Nullable String text(@Nullable Function<S, String> text) {
    return text == null ? null : text.apply(view());
  }

  // --- showing --------------------------------------------------------------------------------

  private void show(Place place, Node.Show<S> show) {
    String field = show.field();
    if (field != null && state.memory().fresh(field, place.node())) {
      emit(new Event.Accepted(place, field, null, Map.of()));
      leave(place);
    } else if (!(at(place).phase() instanceof Phase.Showing)) {
      putWidget(place, show);
    }
  }

  private void putWidget(Place place, Node.Show<S> show) {
    try {
      JsonNode data = show.data() == null ? null : Json.tree(show.data().apply(view()));
      JsonNode schema = show.field() == null ? null : flow.schema().fieldSchema(show.field());
      Event.Widget widget =
          new Event.Widget(show.tool(), data, show.interactive(), show.field(), schema);
      emit(new Event.Shown(place, widget, at));
    } catch (Throwable e) {
      stop(place, Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
    }
  }

  // --- effects --------------------------------------------------------------------------------

  void ended(Effect effect, Input.Result result) {
    Place place = effect.place();
    try {
      if (result instanceof Input.Wrote wrote) {
        commit(effect, wrote.writes());
      } else if (result instanceof Input.Judged judged && effect.field() != null) {
        emit(judged(place, effect.field(), judged.verdict()));
      } else if (result instanceof Input.Failed failed) {
        failed(effect, failed);
      }
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      ErrorCode code = ErrorCode.ofFailed(effect);
      unkept(effect, code, Failures.message(place, code, e), Failures.detail(e));
    }
  }

  private void commit(Effect effect, List<Write> writes) {
    Event.Committed event = new Event.Committed(effect.place(), writes);
    ObjectNode data = state.apply(event).data();
    requireReadable(data);
    if (!writes.isEmpty() && tooLarge(data)) {
      String message =
          "The step "
              + effect.place().node()
              + " would make the state larger than "
              + limits.stateBytes()
              + " bytes.";
      unkept(effect, ErrorCode.STATE_TOO_LARGE, message, message);
      return;
    }
    emit(event);
  }

  /** An effect succeeded, but what came of it cannot be kept. */
  private void unkept(Effect effect, ErrorCode code, String message, String detail) {
    if (effect.policy().once()) {
      emit(outcomeUnknown(effect.place(), "ran, but its outcome could not be kept", detail));
    } else {
      halt(effect.place(), Event.Resume.WORKING, code, message, detail);
    }
  }

  private boolean tooLarge(ObjectNode data) {
    return Json.bytes(data) > limits.stateBytes();
  }

  @SuppressWarnings("ReferenceEquality") // what was readable before needs no second look
  private void requireReadable(ObjectNode data) {
    if (data != state.data()) {
      flow.schema().view(data);
    }
  }

  private void failed(Effect effect, Input.Failed failed) {
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

  /** Attempts that were under way when the process ended are lost, or their outcome is unknown. */
  void recover(Effect effect) {
    Place place = effect.place();
    emit(
        effect.policy().once()
            ? interrupted(place, "the process ended during attempt " + effect.attempt())
            : new Event.Attempted(place, effect.field(), effect.attempt() + 1, at));
  }

  private static Event.Stopped interrupted(Place place, String detail) {
    return outcomeUnknown(place, "was interrupted; whether it happened is not known", detail);
  }

  private static Event.Stopped outcomeUnknown(Place place, String what, String detail) {
    return new Event.Stopped(
        place,
        Event.Resume.WORKING,
        ErrorCode.OUTCOME_UNKNOWN,
        "The step "
            + place.node()
            + " may run only once and "
            + what
            + ". Find out, then decide: retry or skip.",
        detail);
  }

  // --- moving on ------------------------------------------------------------------------------

  private void leave(Place place) {
    Place to = target(place);
    if (to == null) {
      return;
    }
    if (state.visitsInRun() >= limits.visitsPerRun()) {
      bounded(place, ErrorCode.RUN_LIMIT, limits.visitsPerRun());
    } else if (state.visitsInCall() >= limits.visitsPerCall()) {
      bounded(place, ErrorCode.VISIT_LIMIT, limits.visitsPerCall());
    } else {
      Node<S> next = flow.nodes().get(to.node());
      emit(new Event.Moved(place, to, next != null && next.asks(), at));
    }
  }

  private void bounded(Place place, ErrorCode code, int limit) {
    halt(
        place,
        Event.Resume.LEAVING,
        code,
        code.cause() + " (" + limit + "). " + code.repair() + ".",
        "");
  }

  private @Nullable Place target(Place place) {
    Route<S> route = flow.routes().get(place.node());
    if (route == null) {
      throw new IllegalStateException("Nothing leads out of " + place.node() + " in " + flow);
    }
    if (!(route instanceof Route.Choice<S> choice)) {
      return visit(route.targets().get(0));
    }
    Facts facts = Facts.of(state, flow.nodes().keySet());
    Rules.Found found = Rules.first(choice.rules(), facts, flow.schema());
    if (found.failure() != null) {
      emit(new Event.Decided(place, found.tried(), List.of()));
      stop(place, Event.Resume.LEAVING, ErrorCode.DECISION_FAILED, found.failure());
      return null;
    }
    String target = found.targets().isEmpty() ? choice.otherwise() : found.targets().get(0);
    emit(new Event.Decided(place, found.tried(), List.of(target)));
    return visit(target);
  }

  private Place visit(String node) {
    return new Place(node, state.visits().getOrDefault(node, 0) + 1);
  }

  private void complete(Place place) {
    Function<S, ?> mapper = flow.result();
    try {
      emit(new Event.Completed(mapper == null ? null : Json.tree(mapper.apply(view())), at));
    } catch (Throwable e) {
      stop(place, Event.Resume.ENTERING, ErrorCode.RESULT_FAILED, e);
    }
  }

  private void stop(Place place, Event.Resume resume, ErrorCode code, Throwable cause) {
    Failures.rethrowFatal(cause);
    halt(place, resume, code, Failures.message(place, code, cause), Failures.detail(cause));
  }

  private void halt(
      Place place, Event.Resume resume, ErrorCode code, String message, String detail) {
    emit(new Event.Stopped(place, resume, code, message, detail));
  }

  private S view() {
    if (view == null) {
      view = flow.schema().view(state.data());
    }
    return view;
  }
}

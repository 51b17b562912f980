package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Violation;
import io.fermata.flow.schema.StateSchema;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The inputs of a program that come from callers: answers, corrections, signals, decisions. It
 * refuses those that do not fit the run, and lets it continue with the others.
 */
final class CallerInputs {
  private final FlowProgram<?> program;
  private final Flow<?> flow;
  private final Limits limits;
  private final Graph graph;

  CallerInputs(FlowProgram<?> program, Limits limits) {
    this.program = program;
    this.flow = program.flow();
    this.limits = limits;
    this.graph = flow.graph();
  }

  Program.Acceptance<RunState, Event> start(RunState state, Input.Start start) {
    if (start.runId().equals(state.runId())) {
      return new Program.Accepted<>(List.of());
    }
    if (state.running() && (state.ending() != null || !state.undoing().isEmpty())) {
      return refused(state, Outcome.Failure.of(ErrorCode.RUN_ENDING));
    }
    if (start.intent().isBlank()) {
      return refused(state, Outcome.Failure.of(ErrorCode.MISSING_INTENT));
    }
    StateSchema.Checked updates = checked(start.updates());
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    Drive drive = new Drive(flow, limits, state, start.at());
    if (state.running()) {
      drive.emit(new Event.Abandoned(start.at()));
    }
    drive.emit(
        new Event.Started(
            start.runId(), flow.version(), flow.fingerprint(), start.intent(), start.at()));
    return answer(drive, filled(updates));
  }

  Program.Acceptance<RunState, Event> proceed(RunState state, Input.Continue next) {
    StateSchema.Checked updates = checked(next.updates());
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    Map<String, JsonNode> filled = filled(updates);
    Drive drive = new Drive(flow, limits, state, next.at());
    if (state.ending() != null) {
      return ending(drive, filled);
    }
    Answers answers = new Answers(graph, state);
    List<Violation> misplaced = answers.misplaced(filled.keySet(), List.of());
    if (!misplaced.isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, misplaced));
    }
    List<Violation> conflicts = answers.conflicts(filled);
    if (!conflicts.isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.ALREADY_ANSWERED, conflicts));
    }
    Map<String, JsonNode> news = answers.news(filled);
    boolean passes = next.updates().isEmpty();
    List<String> left =
        passes && drive.retries()
            ? List.of()
            : answers.leftOpen(updates.values().keySet(), filled.keySet(), next.toQuestions());
    if (news.isEmpty() && left.isEmpty() && !drive.canGoOn(passes)) {
      return new Program.Accepted<>(List.of());
    }
    drive.answered(news, left, passes);
    return fits(drive, news.keySet());
  }

  Program.Acceptance<RunState, Event> again(RunState state, Input.Again again) {
    Drive drive = new Drive(flow, limits, state, again.at());
    if (!drive.canGoOn(false)) {
      return new Program.Accepted<>(List.of());
    }
    drive.answered(Map.of(), List.of(), false);
    return drive.accepted();
  }

  Program.Acceptance<RunState, Event> reset(RunState state, Input.Reset reset) {
    StateSchema.Checked updates = checked(reset.updates());
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    if (updates.values().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.MISSING_UPDATES));
    }
    if (PauseReport.unknownOutcome(state) != null) {
      return refused(state, Outcome.Failure.of(ErrorCode.OUTCOME_UNKNOWN));
    }
    if (state.ending() != null) {
      return refused(state, Outcome.Failure.of(ErrorCode.RUN_ENDING));
    }
    Corrections corrections = new Corrections(graph, state);
    List<Event.Back> back = corrections.goBackTo(updates.values().keySet());
    List<Violation> misplaced =
        new Answers(graph, state).misplaced(updates.values().keySet(), back);
    if (!misplaced.isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, misplaced));
    }
    Drive drive = new Drive(flow, limits, state, reset.at());
    if (back.isEmpty()) {
      return answer(drive, updates.values());
    }
    for (Event.Back to : back) {
      String once = corrections.onceAfter(to);
      if (once != null) {
        return refused(state, pastOnce(once));
      }
    }
    List<Place> undo =
        new Forks(drive)
            .undoable(
                (place, tick) ->
                    back.stream()
                        .anyMatch(
                            to ->
                                Place.within(place.branch(), to.place().branch())
                                    && tick > corrections.tick(to)));
    drive.reset(back, updates.values(), undo);
    List<Violation> itemless =
        new Answers(graph, drive.state()).misplacedIn(back, updates.values().keySet());
    return itemless.isEmpty()
        ? fits(drive, updates.values().keySet())
        : refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, itemless));
  }

  private static Outcome.Failure pastOnce(String step) {
    return Outcome.Failure.of(
        ErrorCode.RESET_PAST_ONCE,
        "The correction lies before the step %s, which may run only once and has begun. %s."
            .formatted(step, ErrorCode.RESET_PAST_ONCE.repair()));
  }

  /** A run that ends accepts no answers; what could not be undone is retried. */
  private Program.Acceptance<RunState, Event> ending(Drive drive, Map<String, JsonNode> news) {
    if (!news.isEmpty()) {
      return refused(drive.before(), Outcome.Failure.of(ErrorCode.RUN_ENDING));
    }
    drive.answered(Map.of(), List.of(), false);
    return drive.accepted();
  }

  /** What is not asked cannot be put off. */
  static Program.Acceptance<RunState, Event> postpone(RunState state, Input.Postpone postpone) {
    List<Event> events = new ArrayList<>();
    for (Place place : state.inOrder()) {
      PlaceState at = state.at(place);
      if (PauseReport.asks(at)) {
        at.open().stream()
            .map(Event.Question::field)
            .filter(postpone.fields()::contains)
            .forEach(field -> events.add(new Event.Postponed(place, field)));
      }
    }
    return new Program.Accepted<>(events);
  }

  Program.Acceptance<RunState, Event> cancel(RunState state, Input.Cancel cancel) {
    if (state.ending() != null) {
      return new Program.Accepted<>(List.of());
    }
    Drive drive = new Drive(flow, limits, state, cancel.at());
    List<Place> undo = new Forks(drive).undoable((place, tick) -> true);
    if (undo.isEmpty() && state.undoing().isEmpty()) {
      return new Program.Accepted<>(List.of(new Event.Cancelled(cancel.at())));
    }
    drive.emit(new Event.Ending(null, null, undo, cancel.at()));
    return drive.accepted();
  }

  Program.Acceptance<RunState, Event> signal(RunState state, Input.Signal signal) {
    if (state.ending() != null) {
      return refused(state, Outcome.Failure.of(ErrorCode.RUN_ENDING));
    }
    Outcome.Failure unfit = new Signals(graph, limits).unfit(state, signal);
    if (unfit != null) {
      return refused(state, unfit);
    }
    Drive drive = new Drive(flow, limits, state, signal.at());
    drive.emit(new Event.Signalled(signal.name(), signal.payload(), signal.at()));
    return drive.accepted();
  }

  Program.Acceptance<RunState, Event> resolve(RunState state, Input.Resolve resolve) {
    Place place = PauseReport.undecided(state);
    if (place == null) {
      return refused(state, Outcome.Failure.of(ErrorCode.NOTHING_TO_RESOLVE));
    }
    Drive drive = new Drive(flow, limits, state, resolve.at());
    drive.emit(
        resolve.resolution() == Input.Resolution.RETRY
            ? new Event.Retried(place)
            : new Event.Skipped(place, !place.undoes() && drive.spot(place).undoable()));
    return drive.accepted();
  }

  /** Gives changed answers to a run that was just forked from another one. */
  Program.Acceptance<RunState, Event> fork(RunState state, ObjectNode answers, long at) {
    StateSchema.Checked updates = checked(answers);
    if (!updates.violations().isEmpty()) {
      return refused(state, Outcome.Failure.of(ErrorCode.INVALID_UPDATES, updates.violations()));
    }
    Map<String, JsonNode> given = state.answers();
    Answers open = new Answers(graph, state);
    ObjectNode corrected = Json.object();
    ObjectNode early = Json.object();
    ObjectNode again = Json.object();
    filled(updates)
        .forEach(
            (field, value) -> {
              boolean asked = open.awaited(field);
              JsonNode before = given.get(field);
              boolean repeats = before != null && Json.same(before, value);
              if (asked && repeats) {
                again.set(field, value);
              } else if (asked || (before == null && !open.late(field))) {
                early.set(field, value);
              } else if (!repeats) {
                corrected.set(field, value);
              }
            });
    // A correction may lead back before the question, where a repeated answer says nothing new.
    (corrected.isEmpty() ? early : corrected).setAll(again);
    List<Event> events = new ArrayList<>();
    List<Throwable> thrown = new ArrayList<>();
    RunState now = state;
    for (Input input : List.of(new Input.Reset(corrected, at), new Input.Continue(early, at))) {
      ObjectNode values = input instanceof Input.Reset ? corrected : early;
      Program.Acceptance<RunState, Event> next =
          values.isEmpty() ? new Program.Accepted<>(List.of()) : program.accept(now, input);
      if (!(next instanceof Program.Accepted<RunState, Event> accepted)) {
        return next;
      }
      events.addAll(accepted.events());
      thrown.addAll(accepted.thrown());
      now = program.after(now, accepted, 0);
    }
    Program.Accepted<RunState, Event> onward = program.onward(now, at);
    events.addAll(onward.events());
    thrown.addAll(onward.thrown());
    return new Program.Accepted<>(events, program.after(now, onward, 0), thrown);
  }

  // --- what is given ---------------------------------------------------------------------------

  /** Gives values to a run and continues, unless they make its state too large or unreadable. */
  private Program.Acceptance<RunState, Event> answer(Drive drive, Map<String, JsonNode> values) {
    drive.answered(values, List.of(), false);
    return fits(drive, values.keySet());
  }

  private Program.Acceptance<RunState, Event> fits(Drive drive, Set<String> fields) {
    RunState answered = drive.state();
    if (tooLarge(answered)) {
      return refused(
          drive.before(),
          Outcome.Failure.of(
              ErrorCode.STATE_TOO_LARGE,
              "The state would become larger than %s bytes. %s."
                  .formatted(limits.stateBytes(), ErrorCode.STATE_TOO_LARGE.repair())));
    }
    try {
      answered.branches().forEach((name, branch) -> requireReadable(drive.before(), name, branch));
    } catch (IllegalArgumentException e) {
      String blamed = blamed(fields, Json.path(e.getCause()));
      return refused(
          drive.before(),
          Outcome.Failure.of(
              ErrorCode.INVALID_UPDATES,
              List.of(new Violation(blamed, "cannot be read as what the flow expects"))));
    }
    return drive.accepted();
  }

  /** The fields of a call that are in what cannot be read: several if they are refused together. */
  private static String blamed(Set<String> fields, String unreadable) {
    List<String> within = fields.stream().filter(f -> Paths.related(f, unreadable)).toList();
    Collection<String> blamed = within.isEmpty() ? fields : within;
    return blamed.isEmpty() ? "stateUpdates" : String.join(", ", blamed);
  }

  private boolean tooLarge(RunState state) {
    for (Branch branch : state.branches().values()) {
      if (branch.memory().bytes() > limits.stateBytes()) {
        return true;
      }
    }
    return false;
  }

  private void requireReadable(RunState before, String name, Branch branch) {
    Branch known = before.branches().getOrDefault(name, Branch.EMPTY);
    flow.schema().requireReadable(branch.memory().data(), known.memory().data());
  }

  private StateSchema.Checked checked(ObjectNode updates) {
    return flow.schema().check(updates, limits);
  }

  private static Map<String, JsonNode> filled(StateSchema.Checked updates) {
    Map<String, JsonNode> filled = new LinkedHashMap<>(updates.values());
    filled.values().removeIf(value -> !Paths.filled(value));
    return filled;
  }

  private Program.Acceptance<RunState, Event> refused(RunState state, Outcome.Failure failure) {
    return new Program.Refused<>(failure.open(program.open(state)));
  }
}

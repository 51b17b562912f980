package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.RandomFlows;
import io.fermata.flow.action.Run;
import io.fermata.flow.engine.PauseReport;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * All who a run deals with: those who answer, signal and wait, and the systems that its steps call.
 * What they say depends on nothing but the place that it is said to; only the order of it differs.
 */
public final class Bystanders {
  private static final int MOST_MOVES = 2_000;

  /** What can happen next at a place. */
  public record Move(Place place, Kind kind, @Nullable StepEffect effect) {}

  enum Kind {
    ANSWER,
    SIGNAL,
    WORK,
    TIME,
    LOOK
  }

  /** How a run ended, or why it stands still. */
  public record End(String how, @Nullable JsonNode data, @Nullable JsonNode result) {}

  public final Driver run;
  private final Map<StepEffect, Input.Result> results = new LinkedHashMap<>();
  private int looks;

  public Bystanders(Driver run) {
    this.run = run;
  }

  /** The effects that were performed. */
  public Set<StepEffect> performed() {
    return results.keySet();
  }

  // --- what they say --------------------------------------------------------------------------

  static JsonNode answer(Place place, String field) {
    int hash = Math.floorMod((place + "/" + field).hashCode(), 1_000);
    if (field.endsWith("number")) {
      return Json.tree(hash % 9);
    } else if (field.endsWith("flag")) {
      return Json.tree(hash % 2 == 0);
    }
    return Json.tree(hash % 3 == 0 ? "" + (char) ('a' + hash % 26) : "answer " + hash);
  }

  /** Nobody is there at some of the places that do not wait for ever. */
  static boolean neglected(Place place, PlaceState at) {
    return at.deadline() != null && Math.floorMod(place.toString().hashCode(), 2) == 0;
  }

  /** An action fails a few times, or always where a failure is final. */
  static boolean fails(Run<RandomFlows.Data> run, boolean forGood) {
    int hash = Math.floorMod((run.idempotencyKey() + "!").hashCode(), 8);
    return forGood ? hash == 0 : run.attempt() <= (hash < 2 ? 1 + hash : 0);
  }

  // --- what can happen ------------------------------------------------------------------------

  public List<Move> moves() {
    List<Move> moves = new ArrayList<>();
    if (!run.state.running()) {
      return moves;
    }
    Program.Next<StepEffect> next = run.program.next(run.state);
    List<StepEffect> effects =
        next instanceof Program.Perform<StepEffect> perform
            ? perform.effects()
            : ((Program.Pause<StepEffect>) next).timers();
    effects.forEach(effect -> add(moves, effect));
    boolean stuck = !run.state.undoing().isEmpty();
    for (Place place : stuck ? List.<Place>of() : run.state.inOrder()) {
      PlaceState at = run.state.at(place);
      if (!asked(at).isEmpty() && !neglected(place, at)) {
        moves.add(new Move(place, Kind.ANSWER, null));
      } else if (at.phase() instanceof Phase.Awaiting && !neglected(place, at)) {
        moves.add(new Move(place, Kind.SIGNAL, null));
      } else if (place.equals(run.state.shown())) {
        moves.add(new Move(place, Kind.LOOK, null));
      }
    }
    return moves;
  }

  private void add(List<Move> moves, StepEffect effect) {
    if (effect.timer()) {
      boolean patient =
          effect.kind() == StepEffect.Kind.DEADLINE
              && !neglected(effect.place(), run.state.at(effect.place()));
      if (!patient) {
        moves.add(new Move(effect.place(), Kind.TIME, effect));
      }
    } else {
      results.computeIfAbsent(effect, run::result);
      moves.add(new Move(effect.place(), Kind.WORK, effect));
    }
  }

  static List<String> asked(PlaceState at) {
    if (at.phase() instanceof Phase.Asking) {
      return at.open().stream().map(Event.Question::field).toList();
    } else if (at.phase() instanceof Phase.Showing showing && showing.widget().field() != null) {
      return List.of(showing.widget().field());
    }
    return List.of();
  }

  // --- what happens ---------------------------------------------------------------------------

  public void start(ObjectNode known) {
    run.feed(new Input.Start("run", "to test", known, run.now++));
  }

  /** Makes the moves that are chosen until nothing can move any more. */
  public End last(Choice choice) {
    for (int moves = 0; run.state.running(); moves++) {
      List<Move> possible = moves();
      if (moves > MOST_MOVES) {
        throw new AssertionError("The run goes on without end: " + possible);
      }
      if (possible.isEmpty()) {
        if (!look()) {
          break;
        }
      } else {
        looks = 0;
        make(choice.of(possible));
      }
    }
    return end();
  }

  /** Chooses what happens next; of what happens at once all that is said comes in one call. */
  public interface Choice {
    List<Move> of(List<Move> possible);
  }

  /** Tries again what stands still; false if that came to nothing before. */
  private boolean look() {
    RunState before = run.state;
    if (PauseReport.undecided(before) != null) {
      run.feed(new Input.Resolve(Input.Resolution.RETRY, run.now++));
    } else {
      run.feed(new Input.Continue(Json.object(), run.now++));
    }
    looks++;
    return looks < 6 && run.state.tick() > before.tick();
  }

  private void make(List<Move> moves) {
    ObjectNode said = Json.object();
    for (Move move : moves) {
      if (move.kind() == Kind.ANSWER) {
        asked(run.state.at(move.place()))
            .forEach(field -> said.set(field, answer(move.place(), field)));
      }
    }
    if (!said.isEmpty()) {
      if (run.program.unseen(run.state)) {
        // A client that answers has seen what is open, also after a crash.
        run.feed(new Input.Continue(Json.object(), run.now++));
      }
      run.feed(new Input.Continue(said, run.now++));
    }
    moves.stream().filter(move -> move.kind() != Kind.ANSWER).forEach(this::make);
  }

  private void make(Move move) {
    switch (move.kind()) {
      case SIGNAL -> {
        PlaceState at = run.state.places().get(move.place());
        if (at != null && at.phase() instanceof Phase.Awaiting awaiting) {
          run.feed(new Input.Signal(awaiting.signal(), Json.tree(awaiting.signal()), run.now++));
        }
      }
      case WORK -> {
        StepEffect effect = Objects.requireNonNull(move.effect());
        Input.Result result = Objects.requireNonNull(results.get(effect));
        run.feed(new Input.EffectEnded(effect, result, run.now++));
      }
      case TIME -> {
        StepEffect effect = Objects.requireNonNull(move.effect());
        run.now = Math.max(run.now, Objects.requireNonNull(effect.due()));
        run.feed(new Input.EffectDue(effect, run.now++));
      }
      case LOOK, ANSWER -> run.feed(new Input.Continue(Json.object(), run.now++));
    }
  }

  public End end() {
    RunState state = run.state;
    if (!state.running()) {
      boolean completed = state.status() == RunState.Status.COMPLETED;
      return new End(
          state.status() + ": " + state.reason(),
          completed ? state.data() : null,
          completed ? state.result() : null);
    }
    Outcome outcome = ((Program.Pause<StepEffect>) run.program.next(state)).outcome();
    return new End(Driver.code(outcome), null, null);
  }
}

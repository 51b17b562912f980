package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Sizes;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Refuses signals that no node of a flow could take. */
record Signals(Graph graph, Limits limits) {
  private static final int MOST_WAITING = 100;

  /** Why a signal cannot be taken; null if it can. */
  Outcome.@Nullable Failure unfit(RunState state, Input.Signal signal) {
    Set<String> known = new TreeSet<>();
    for (Step<?> step : graph.steps()) {
      if (step.node() instanceof Node.Await<?> await) {
        known.add(await.signal());
      }
    }
    if (!known.contains(signal.name())) {
      return Outcome.Failure.of(
          ErrorCode.UNKNOWN_SIGNAL,
          "The flow waits for no signal "
              + Texts.shortened(signal.name(), 80)
              + "; "
              + Nearest.next(signal.name(), known, "it waits for "));
    }
    JsonNode payload = signal.payload();
    Place taker = taker(state, signal.name());
    List<Violation> violations =
        taker == null ? violations(signal.name(), payload) : violations(graph.step(taker), payload);
    if (!violations.isEmpty()) {
      return Outcome.Failure.of(ErrorCode.INVALID_SIGNAL, violations);
    }
    boolean tooLarge = payload != null && Sizes.of(payload) > limits.stateBytes() / 4;
    if (tooLarge || full(state)) {
      return Outcome.Failure.of(tooLarge ? ErrorCode.STATE_TOO_LARGE : ErrorCode.SIGNAL_LIMIT);
    }
    return taker == null ? null : unkept(state, taker, payload);
  }

  /** Whether no further signal may wait. */
  static boolean full(RunState state) {
    return state.signals().size() >= MOST_WAITING;
  }

  /** The signals that places wait for. */
  static Set<String> awaited(Graph graph, RunState state) {
    Set<String> names = new LinkedHashSet<>();
    for (Place place : state.places().keySet()) {
      Node.Await<?> await = awaiting(graph, state, place);
      if (await != null) {
        names.add(await.signal());
      }
    }
    return names;
  }

  /** What a place waits for; null if for no signal. */
  private static Node.@Nullable Await<?> awaiting(Graph graph, RunState state, Place place) {
    return state.at(place).phase() instanceof Phase.Awaiting
            && graph.step(place).node() instanceof Node.Await<?> await
        ? await
        : null;
  }

  /** The place that takes the next signal of a name: the first that waits; null if none does. */
  private @Nullable Place taker(RunState state, String signal) {
    for (Place place : state.places().keySet()) {
      Node.Await<?> await = awaiting(graph, state, place);
      if (await != null && await.signal().equals(signal)) {
        return place;
      }
    }
    return null;
  }

  /** Why the place that takes a signal cannot keep it; null if it can. */
  private Outcome.@Nullable Failure unkept(
      RunState state, Place place, @Nullable JsonNode payload) {
    TypedPlace<?> spot = TypedPlace.of(state, place, graph);
    Node.Await<?> await = Objects.requireNonNull(awaiting(graph, state, place));
    Event.Received received = received(spot, await, payload);
    RunState after = state.apply(received);
    try {
      spot.now(after).requireReadable(state);
    } catch (IllegalArgumentException e) {
      String field = Objects.requireNonNullElse(received.field(), received.signal());
      return Outcome.Failure.of(
          ErrorCode.INVALID_SIGNAL, List.of(new Violation(field, "does not fit the state")));
    }
    return after.memory(place.branch()).bytes() > limits.stateBytes()
        ? Outcome.Failure.of(ErrorCode.STATE_TOO_LARGE)
        : null;
  }

  /** How a place takes a signal. */
  static Event.Received received(
      TypedPlace<?> spot, Node.Await<?> await, @Nullable JsonNode payload) {
    String field = await.field() == null ? null : spot.path(await.field());
    return new Event.Received(spot.place(), await.signal(), field, payload);
  }

  /** Why the payload of an early signal fits no node that waits for its name; empty if one does. */
  List<Violation> violations(String signal, @Nullable JsonNode payload) {
    Set<Violation> all = new LinkedHashSet<>();
    for (Step<?> step : graph.steps()) {
      if (step.node() instanceof Node.Await<?> await && await.signal().equals(signal)) {
        List<Violation> violations = violations(step, payload);
        if (violations.isEmpty()) {
          return List.of();
        }
        all.addAll(violations);
      }
    }
    return List.copyOf(all);
  }

  /** Why the payload of a signal does not fit the node that takes it; empty if it does. */
  static List<Violation> violations(Step<?> step, @Nullable JsonNode payload) {
    if (!(step.node() instanceof Node.Await<?> await) || await.field() == null) {
      return List.of();
    }
    return payload == null || !Paths.filled(payload)
        ? List.of(new Violation(await.field(), "is missing"))
        : step.scope().schema().checkPayload(await.field(), payload);
  }

  /** Refuses a signal that came early and fits another node of its name, but not this one. */
  static void requireFits(Step<?> step, @Nullable JsonNode payload) {
    List<Violation> violations = violations(step, payload);
    if (!violations.isEmpty()) {
      throw new IllegalArgumentException(
          Violation.listed("The payload does not fit", Violation.first(violations)));
    }
  }
}

package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Graph;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Recognises the inputs that the events of a journal came from. Several inputs may have the same
 * first event, so there may be several candidates; those that the journal does not distinguish are
 * equivalent.
 *
 * @param state the state before the events
 * @param events the events of an entry that no input accounts for yet; not empty
 * @param entryAt when the entry was written
 */
record RecordedInputs(
    FlowProgram<?> program,
    Graph graph,
    PendingEffects wanted,
    RunState state,
    List<Event> events,
    long entryAt) {

  /** The inputs that the first event may have come from, the likeliest first. */
  List<Input> candidates() {
    Event first = events.get(0);
    if (first instanceof Event.Abandoned && next() instanceof Event.Started started) {
      return List.of(start(started, 2));
    } else if (first instanceof Event.Started started) {
      return List.of(start(started, 1));
    } else if (first instanceof Event.Answered e) {
      return answers(e);
    } else if (first instanceof Event.Retried) {
      return retries();
    } else if (first instanceof Event.Skipped) {
      return List.of(new Input.Resolve(Input.Resolution.SKIP, at()));
    } else if (first instanceof Event.Reset e) {
      return List.of(new Input.Reset(updates(e.corrected()), e.at()));
    } else if (first instanceof Event.Postponed e) {
      return List.of(new Input.Postpone(Set.of(e.field()), at()));
    } else if (first instanceof Event.Signalled e) {
      return List.of(new Input.Signal(e.signal(), e.payload(), e.at()));
    } else if (first instanceof Event.Unattended e) {
      return List.of(e.informed() ? new Input.Unattended(e.at()) : recovered());
    } else if (first instanceof Event.Cancelled
        || (first instanceof Event.Ending ending && ending.code() == null)) {
      return List.of(new Input.Cancel(at()));
    } else if (first instanceof Event.Expired
        || (first instanceof Event.Ending ending && ending.code() == ErrorCode.RUN_EXPIRED)) {
      return listOf(due(program.expiry(state)));
    }
    return ofTimeOrEffect(first);
  }

  private List<Input> ofTimeOrEffect(Event first) {
    Place place = Objects.requireNonNullElse(first.place(), FlowProgram.BEGINNING);
    if (first instanceof Event.Woken) {
      return listOf(due(effect(place, StepEffect.Kind.SLEEP)));
    } else if (first instanceof Event.DeadlinePassed) {
      return listOf(due(effect(place, StepEffect.Kind.DEADLINE)));
    } else if (first instanceof Event.Reminding e) {
      return e.attempt() == 1
          ? listOf(due(effect(place, StepEffect.Kind.REMIND)))
          : List.of(recovered());
    } else if (first instanceof Event.Attempted e) {
      StepEffect again = attempt(e.place());
      return again != null && again.timer() ? listOf(due(again)) : List.of(recovered());
    } else if (first instanceof Event.Stopped e && e.resume() == Event.Resume.WORKING) {
      return List.of(EffectAttempts.ofCrash(e) ? recovered() : failed(e));
    }
    return listOf(ended(first, Tagging.NONE));
  }

  // --- calls ----------------------------------------------------------------------------------

  private Input start(Event.Started started, int following) {
    Event after = events.size() > following ? events.get(following) : null;
    Map<String, JsonNode> given = after instanceof Event.Answered a ? a.values() : Map.of();
    return new Input.Start(started.runId(), started.intent(), updates(given), started.at());
  }

  /** A call that gives nothing, one that only repeats an answer, or somebody's decision. */
  private List<Input> retries() {
    List<Input> inputs = new ArrayList<>();
    inputs.add(new Input.Continue(Json.object(), at()));
    Answers answers = new Answers(graph, state);
    state.answers().entrySet().stream()
        .filter(known -> !answers.awaited(known.getKey()))
        .filter(known -> answers.misplaced(Set.of(known.getKey()), List.of()).isEmpty())
        .findFirst()
        .map(known -> updates(Map.of(known.getKey(), known.getValue())))
        .ifPresent(repeated -> inputs.add(new Input.Continue(repeated, at())));
    inputs.add(new Input.Again(at()));
    inputs.add(new Input.Resolve(Input.Resolution.RETRY, at()));
    return inputs;
  }

  /** A call without further values, one that names what it leaves open, or a first correction. */
  private static List<Input> answers(Event.Answered e) {
    List<Input> inputs = new ArrayList<>();
    ObjectNode updates = updates(e.values());
    if (e.values().values().stream().allMatch(Paths::filled)) {
      inputs.add(new Input.Continue(updates, e.at()));
    }
    if (e.left() != null) {
      ObjectNode named = updates(e.values());
      e.left().forEach(named::putNull);
      inputs.add(new Input.Continue(named, true, e.at()));
    }
    if (e.values().isEmpty()) {
      inputs.add(new Input.Again(e.at()));
    }
    inputs.add(new Input.Reset(updates, e.at()));
    return inputs;
  }

  private static ObjectNode updates(Map<String, JsonNode> values) {
    ObjectNode updates = Json.object();
    values.forEach(updates::set);
    return updates;
  }

  // --- time -----------------------------------------------------------------------------------

  private Input.@Nullable EffectDue due(@Nullable StepEffect timer) {
    return timer == null || timer.due() == null || timer.due() > at()
        ? null
        : new Input.EffectDue(timer, at());
  }

  /** The attempts that a crash interrupted: those that were restarted or abandoned. */
  private Input recovered() {
    Set<Place> lost = new HashSet<>();
    int begun = events.get(0) instanceof Event.Unattended ? 1 : 0;
    for (Event event : events.subList(begun, events.size())) {
      Place place = event.place();
      if (place == null || !restarts(event)) {
        break;
      }
      lost.add(place);
    }
    Set<String> running = new HashSet<>();
    for (StepEffect effect : wanted.of(state)) {
      if (!lost.contains(effect.place())) {
        running.add(effect.key());
      }
    }
    return new Input.Recovered(running, at());
  }

  private static boolean restarts(Event event) {
    return event instanceof Event.Attempted
        || event instanceof Event.Reminding
        || event instanceof Event.Stopped;
  }

  // --- effects --------------------------------------------------------------------------------

  private @Nullable Input ended(Event event, Tagging tagging) {
    Event next = next();
    if (event instanceof Event.Tagged e && next != null) {
      return ended(next, e.tagging());
    } else if (event instanceof Event.Reminded e) {
      return reminded(e, tagging);
    }
    Input.Result result = result(event, tagging, state, graph);
    if (result == null) {
      return new Input.Recovered(keys(), at());
    }
    StepEffect effect = attempt(effectOf(event));
    String judged = judged(event);
    return effect == null || (judged != null && !judged.equals(effect.field()))
        ? null
        : ended(effect, result, endedAt(effect, event));
  }

  private long endedAt(StepEffect effect, Event event) {
    return event instanceof Event.AttemptFailed failed
        ? failed.retryAt() - pause(effect).toMillis()
        : at();
  }

  /** The place of the effect that an event came of. */
  static Place effectOf(Event event) {
    Place place = Objects.requireNonNull(event.place());
    return event instanceof Event.Undone ? place.undo() : place;
  }

  /** The field whose answer was judged; null if none was. */
  static @Nullable String judged(Event event) {
    if (event instanceof Event.Accepted accepted) {
      return accepted.field();
    }
    return event instanceof Event.Rejected rejected ? rejected.field() : null;
  }

  private Input failed(Event.Stopped stopped) {
    Input ended = ended(stopped, Tagging.NONE);
    return ended == null ? new Input.Recovered(keys(), at()) : ended;
  }

  /** What an effect ended with, by the event that came of it; null if it came of none. */
  static Input.@Nullable Result result(Event event, Tagging tagging, RunState state, Graph graph) {
    if (event instanceof Event.Committed e) {
      return Input.Wrote.of(e, tagging);
    } else if (event instanceof Event.Undone) {
      return wrote(tagging);
    } else if (event instanceof Event.Accepted e) {
      return new Input.Judged(verdict(e, state, graph));
    } else if (event instanceof Event.Rejected e) {
      return new Input.Judged(Verdict.reject(e.message()));
    } else if (event instanceof Event.AttemptFailed e) {
      return new Input.Failed(e.code(), e.message(), e.detail(), null);
    } else if (event instanceof Event.Stopped e && e.resume() == Event.Resume.WORKING) {
      return EffectAttempts.ofStopped(e);
    }
    return null;
  }

  private @Nullable Input reminded(Event.Reminded e, Tagging tagging) {
    StepEffect effect = effect(e.place(), StepEffect.Kind.REMIND);
    Long next = e.next();
    long at = next == null ? at() : next - period(e.place()).toMillis();
    String failure = e.failure();
    Input.Result result =
        failure == null
            ? wrote(tagging)
            : new Input.Failed(ErrorCode.STEP_FAILED, failure, null, null);
    return effect == null ? null : new Input.EffectEnded(effect, result, at);
  }

  /** How long after a failed attempt the next one is due. */
  private Duration pause(StepEffect failed) {
    int tries = failed.attempt() - state.at(failed.place()).base();
    return failed.policy().retry().after(tries);
  }

  /** How long after a reminder the next one is due. */
  private Duration period(Place place) {
    Duration every = TypedPlace.of(state, place, graph).waiting().every();
    return every == null ? Duration.ZERO : every;
  }

  private static Input.Wrote wrote(Tagging tagging) {
    return new Input.Wrote(List.of(), List.of(), List.of(), tagging, null);
  }

  /** What the check of an answer returned that was accepted. */
  private static Verdict verdict(Event.Accepted e, RunState state, Graph graph) {
    int prefix = TypedPlace.of(state, e.place(), graph).prefix().length();
    Map<String, Object> sets = new LinkedHashMap<>();
    e.sets().forEach((path, value) -> sets.put(path.substring(prefix), value));
    return new Verdict.Accepted(e.value(), sets);
  }

  private static Input ended(StepEffect effect, Input.Result result, long at) {
    return new Input.EffectEnded(
        new StepEffect(
            effect.runId(),
            effect.place(),
            effect.kind(),
            effect.field(),
            effect.attempt(),
            null,
            effect.policy()),
        result,
        at);
  }

  /** The effect that a place works on, be it running or waiting for another attempt. */
  private @Nullable StepEffect attempt(Place place) {
    for (StepEffect effect : wanted.of(state)) {
      boolean works =
          effect.kind() == StepEffect.Kind.ACT
              || effect.kind() == StepEffect.Kind.CHECK
              || effect.kind() == StepEffect.Kind.UNDO;
      if (works && effect.place().equals(place)) {
        return effect;
      }
    }
    return null;
  }

  private @Nullable StepEffect effect(Place place, StepEffect.Kind kind) {
    for (StepEffect effect : wanted.of(state)) {
      if (effect.kind() == kind && effect.place().equals(place)) {
        return effect;
      }
    }
    return null;
  }

  private Set<String> keys() {
    Set<String> keys = new HashSet<>();
    wanted.of(state).forEach(effect -> keys.add(effect.key()));
    return keys;
  }

  // --- the entry ------------------------------------------------------------------------------

  private @Nullable Event next() {
    return events.size() < 2 ? null : events.get(1);
  }

  /** When it came in: all that follows from one input has the same time. */
  private long at() {
    for (Event event : events) {
      if (event.at() > 0) {
        return event.at();
      }
    }
    return entryAt;
  }

  private static List<Input> listOf(@Nullable Input input) {
    return input == null ? List.of() : List.of(input);
  }
}

package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.RunState.Checkpoint;
import io.fermata.flow.RunState.Status;
import java.util.LinkedHashMap;
import java.util.Map;

/** What each event means for the state. */
final class Fold {
  private Fold() {}

  static RunState apply(RunState before, Event event) {
    RunState state = before.with(b -> b.tick++);
    if (event instanceof Event.Started e) {
      return started(state, e);
    } else if (event instanceof Event.Answered e) {
      return answered(state, e);
    } else if (event instanceof Event.Accepted e) {
      return accepted(state, e);
    } else if (event instanceof Event.Rejected e) {
      return rejected(state, e);
    } else if (event instanceof Event.Asked e) {
      return state.place(e.place(), at -> at.asked(e)).with(b -> b.changedAt = e.at());
    } else if (event instanceof Event.Shown e) {
      return state.place(e.place(), at -> at.shown(e)).with(b -> b.changedAt = e.at());
    } else if (event instanceof Event.Attempted e) {
      return state.place(e.place(), at -> at.attempted(e)).with(b -> b.changedAt = e.at());
    } else if (event instanceof Event.AttemptFailed e) {
      return attemptFailed(state, e);
    } else if (event instanceof Event.Committed e) {
      return committed(state, e);
    } else if (event instanceof Event.Decided) {
      return state;
    } else if (event instanceof Event.Moved e) {
      return moved(state, e);
    } else if (event instanceof Event.Stopped e) {
      return stopped(state, e);
    } else if (event instanceof Event.Retried e) {
      return retried(state, e);
    } else if (event instanceof Event.Skipped e) {
      return skipped(state, e);
    } else if (event instanceof Event.Reset e) {
      return reset(state, e);
    } else if (event instanceof Event.Completed e) {
      return ended(state, Status.COMPLETED, e.at()).with(b -> b.result = e.result());
    } else if (event instanceof Event.Cancelled e) {
      return ended(state, Status.CANCELLED, e.at());
    } else if (event instanceof Event.Abandoned) {
      return RunState.NONE.with(b -> b.tick = state.tick());
    }
    throw new IllegalStateException("An event without a meaning: " + event);
  }

  private static RunState started(RunState state, Event.Started e) {
    Place start = new Place(Flow.START, 1);
    return RunState.NONE.with(
        b -> {
          b.status = Status.RUNNING;
          b.runId = e.runId();
          b.version = e.version();
          b.fingerprint = e.fingerprint();
          b.intent = e.intent();
          b.startedAt = e.at();
          b.changedAt = e.at();
          b.tick = state.tick();
          b.call();
          b.put(start, At.entered(e.at()).phase(new Phase.Leaving()));
          b.visits = Map.of(Flow.START, 1);
          b.entered = Map.of(Flow.START, new Checkpoint(state.tick(), Memory.EMPTY));
        });
  }

  private static RunState answered(RunState state, Event.Answered e) {
    Map<Place, At> places = new LinkedHashMap<>(state.places());
    places.replaceAll((place, at) -> at.answered(e.values().keySet()));
    return state.with(
        b -> {
          b.call();
          b.changedAt = e.at();
          b.memory = b.memory.answer(e.values(), b.tick);
          b.places = places;
        });
  }

  private static RunState accepted(RunState state, Event.Accepted e) {
    JsonNode value = e.value();
    Memory memory = state.memory().accept(e.field(), state.tick());
    if (value != null) {
      memory = memory.normalise(e.field(), value);
    }
    for (Map.Entry<String, JsonNode> set : e.sets().entrySet()) {
      memory = memory.set(set.getKey(), set.getValue(), state.tick());
    }
    Memory known = memory;
    return state.place(e.place(), at -> at.accept(e.field())).with(b -> b.memory = known);
  }

  private static RunState rejected(RunState state, Event.Rejected e) {
    At.Rejection rejection = new At.Rejection(e.message(), state.tick());
    Map<String, JsonNode> forgotten = Map.of(e.field(), Json.MAPPER.nullNode());
    return state
        .place(e.place(), at -> at.reject(e.field(), rejection))
        .with(b -> b.memory = b.memory.answer(forgotten, b.tick));
  }

  private static RunState attemptFailed(RunState state, Event.AttemptFailed e) {
    return state.place(
        e.place(),
        at ->
            at.phase() instanceof Phase.Working working
                ? at.phase(new Phase.Working(working.field(), e.attempt(), e.retryAt()))
                : at);
  }

  private static RunState committed(RunState state, Event.Committed e) {
    Memory memory = state.memory();
    for (Write write : e.writes()) {
      memory = memory.write(write.path(), write.applyTo(memory.data()), state.tick());
    }
    Memory known = memory;
    return state
        .place(e.place(), at -> at.phase(new Phase.Leaving()))
        .with(
            b -> {
              b.memory = known;
              b.committed = RunState.put(b.committed, e.place().node(), b.tick);
            });
  }

  private static RunState moved(RunState state, Event.Moved e) {
    String node = e.to().node();
    return state.with(
        b -> {
          b.changedAt = e.at();
          b.memory = b.memory.leave(e.from().node(), b.tick);
          b.places = RunState.remove(b.places, e.from());
          b.put(e.to(), At.entered(e.at()));
          b.visits = RunState.put(b.visits, node, e.to().visit());
          b.visitsInRun++;
          b.visitsInCall++;
          if (e.asks()) {
            b.entered = RunState.put(b.entered, node, new Checkpoint(b.tick, b.memory));
          }
        });
  }

  private static RunState stopped(RunState state, Event.Stopped e) {
    return state.place(
        e.place(),
        at -> {
          String field = at.phase() instanceof Phase.Working w ? w.field() : null;
          return at.phase(new Phase.Halted(e.resume(), e.code(), e.message(), field));
        });
  }

  private static RunState retried(RunState state, Event.Retried e) {
    return state
        .place(
            e.place(),
            at ->
                at.phase() instanceof Phase.Halted halted && halted.resume() == Event.Resume.LEAVING
                    ? at.phase(new Phase.Leaving())
                    : at.phase(new Phase.Entering()))
        .with(RunState.Draft::call);
  }

  /** A skipped action counts as committed: a correction must not make it run again. */
  private static RunState skipped(RunState state, Event.Skipped e) {
    String node = e.place().node();
    return state
        .place(e.place(), At::skipped)
        .with(
            b -> {
              b.call();
              b.committed = RunState.put(b.committed, node, b.tick);
            });
  }

  private static RunState reset(RunState state, Event.Reset e) {
    Checkpoint back = state.entered().get(e.to().node());
    if (back == null) {
      return state;
    }
    Map<String, JsonNode> answers = state.memory().answersAfter(back.tick());
    answers.putAll(e.corrected());
    Map<String, Checkpoint> earlier = new LinkedHashMap<>(state.entered());
    earlier.values().removeIf(c -> c.tick() > back.tick());
    boolean toStart = e.to().node().equals(Flow.START);
    At at = At.entered(e.at());
    return state.with(
        b -> {
          b.call();
          b.changedAt = e.at();
          b.memory = back.memory().answer(answers, b.tick);
          b.places = Map.of(e.to(), toStart ? at.phase(new Phase.Leaving()) : at);
          b.visits = RunState.put(b.visits, e.to().node(), e.to().visit());
          b.entered = earlier;
          b.committed = RunState.Draft.before(b.committed, back.tick());
        });
  }

  private static RunState ended(RunState state, Status status, long at) {
    return state.with(
        b -> {
          b.status = status;
          b.changedAt = at;
          b.places = Map.of();
        });
  }
}

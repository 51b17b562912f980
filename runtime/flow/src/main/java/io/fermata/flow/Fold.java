package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.RunState.Checkpoint;
import io.fermata.flow.RunState.Draft;
import io.fermata.flow.RunState.Status;
import java.util.LinkedHashMap;
import java.util.Map;

/** What each event means for the state. */
final class Fold {
  private Fold() {}

  /** Puts into the draft what the event means. */
  static void into(Draft state, Event event) {
    state.tick++;
    if (event instanceof Event.Started e) {
      started(state, e);
    } else if (event instanceof Event.Answered e) {
      answered(state, e);
    } else if (event instanceof Event.Accepted e) {
      accepted(state, e);
    } else if (event instanceof Event.Rejected e) {
      rejected(state, e);
    } else if (event instanceof Event.Asked e) {
      state.changedAt = e.at();
      state.at(e.place(), at -> at.asked(e));
    } else if (event instanceof Event.Shown e) {
      state.changedAt = e.at();
      state.at(e.place(), at -> at.shown(e));
    } else if (event instanceof Event.Attempted e) {
      state.changedAt = e.at();
      state.at(e.place(), at -> at.attempted(e));
    } else if (event instanceof Event.AttemptFailed e) {
      state.at(e.place(), at -> attemptFailed(at, e));
    } else if (event instanceof Event.Committed e) {
      committed(state, e);
    } else if (event instanceof Event.Moved e) {
      moved(state, e);
    } else if (event instanceof Event.Stopped e) {
      state.at(e.place(), at -> stopped(at, e));
    } else if (event instanceof Event.Retried e) {
      state.call();
      state.at(e.place(), Fold::retried);
    } else if (event instanceof Event.Skipped e) {
      skipped(state, e);
    } else if (event instanceof Event.Reset e) {
      reset(state, e);
    } else if (event instanceof Event.Completed e) {
      ended(state, Status.COMPLETED, e.at());
      state.result = e.result();
    } else if (event instanceof Event.Cancelled e) {
      ended(state, Status.CANCELLED, e.at());
    } else if (event instanceof Event.Abandoned) {
      state.forget();
    } else if (!(event instanceof Event.Decided)) {
      throw new IllegalStateException("An event without a meaning: " + event);
    }
  }

  private static void started(Draft state, Event.Started e) {
    state.forget();
    state.status = Status.RUNNING;
    state.runId = e.runId();
    state.version = e.version();
    state.fingerprint = e.fingerprint();
    state.intent = e.intent();
    state.startedAt = e.at();
    state.changedAt = e.at();
    state.call();
    state.put(new Place(Flow.START, 1), At.entered(e.at()).phase(new Phase.Leaving()));
    state.visits = Map.of(Flow.START, 1);
    state.entered = Map.of(Flow.START, new Checkpoint(state.tick, Memory.EMPTY));
  }

  private static void answered(Draft state, Event.Answered e) {
    Map<Place, At> places = new LinkedHashMap<>(state.places);
    places.replaceAll((place, at) -> at.answered(e.values().keySet()));
    state.call();
    state.changedAt = e.at();
    state.memory = state.memory.answer(e.values(), state.tick);
    state.places = places;
  }

  private static void accepted(Draft state, Event.Accepted e) {
    JsonNode value = e.value();
    Memory memory = state.memory.accept(e.field(), state.tick);
    if (value != null) {
      memory = memory.normalise(e.field(), value);
    }
    for (Map.Entry<String, JsonNode> set : e.sets().entrySet()) {
      memory = memory.set(set.getKey(), set.getValue(), state.tick);
    }
    state.memory = memory;
    state.at(e.place(), at -> at.accept(e.field()));
  }

  private static void rejected(Draft state, Event.Rejected e) {
    At.Rejection rejection = new At.Rejection(e.message(), state.tick);
    Map<String, JsonNode> forgotten = Map.of(e.field(), Json.MAPPER.nullNode());
    state.memory = state.memory.answer(forgotten, state.tick);
    state.at(e.place(), at -> at.reject(e.field(), rejection));
  }

  private static At attemptFailed(At at, Event.AttemptFailed e) {
    return at.phase() instanceof Phase.Working working
        ? at.phase(new Phase.Working(working.field(), e.attempt(), e.retryAt()))
        : at;
  }

  private static void committed(Draft state, Event.Committed e) {
    for (Write write : e.writes()) {
      Memory memory = state.memory;
      state.memory = memory.write(write.path(), write.applyTo(memory.data()), state.tick);
    }
    state.committed = RunState.put(state.committed, e.place().node(), state.tick);
    state.at(e.place(), at -> at.phase(new Phase.Leaving()));
  }

  private static void moved(Draft state, Event.Moved e) {
    String node = e.to().node();
    state.changedAt = e.at();
    state.memory = state.memory.leave(e.from().node(), state.tick);
    state.places = RunState.remove(state.places, e.from());
    state.put(e.to(), At.entered(e.at()));
    state.visits = RunState.put(state.visits, node, e.to().visit());
    state.visitsInRun++;
    state.visitsInCall++;
    if (e.asks()) {
      Checkpoint here = new Checkpoint(state.tick, state.memory);
      state.entered = RunState.put(state.entered, node, here);
    }
  }

  private static At stopped(At at, Event.Stopped e) {
    String field = at.phase() instanceof Phase.Working working ? working.field() : null;
    return at.phase(new Phase.Halted(e.resume(), e.code(), e.message(), field));
  }

  private static At retried(At at) {
    boolean leaving =
        at.phase() instanceof Phase.Halted halted && halted.resume() == Event.Resume.LEAVING;
    return at.phase(leaving ? new Phase.Leaving() : new Phase.Entering());
  }

  /** A skipped action counts as committed: a correction must not make it run again. */
  private static void skipped(Draft state, Event.Skipped e) {
    state.call();
    state.committed = RunState.put(state.committed, e.place().node(), state.tick);
    state.at(e.place(), At::skipped);
  }

  private static void reset(Draft state, Event.Reset e) {
    Checkpoint back = state.entered.get(e.to().node());
    if (back == null) {
      return;
    }
    Map<String, JsonNode> answers = state.memory.answersAfter(back.tick());
    answers.putAll(e.corrected());
    Map<String, Checkpoint> earlier = new LinkedHashMap<>(state.entered);
    earlier.values().removeIf(c -> c.tick() > back.tick());
    boolean toStart = e.to().node().equals(Flow.START);
    At at = At.entered(e.at());
    state.call();
    state.changedAt = e.at();
    state.memory = back.memory().answer(answers, state.tick);
    state.places = Map.of(e.to(), toStart ? at.phase(new Phase.Leaving()) : at);
    state.visits = RunState.put(state.visits, e.to().node(), e.to().visit());
    state.entered = earlier;
    state.committed = Draft.before(state.committed, back.tick());
  }

  private static void ended(Draft state, Status status, long at) {
    state.status = status;
    state.changedAt = at;
    state.places = Map.of();
  }
}

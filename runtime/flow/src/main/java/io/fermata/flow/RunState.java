package io.fermata.flow;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The state of a session's run: the fold of its events. Immutable; trees in it are never changed.
 *
 * @param places where the run is: a set of places, each with what it is busy with
 * @param visits how often each node was entered
 * @param entered when each node that asks was last entered, and what the run knew then
 * @param committed when each action last committed, or was taken as done
 * @param tick the number of events folded so far
 * @param callTick the tick at which the last call that drove the run began
 */
public record RunState(
    Status status,
    String runId,
    int version,
    String fingerprint,
    String intent,
    long startedAt,
    long changedAt,
    Memory memory,
    Map<Place, At> places,
    Map<String, Integer> visits,
    Map<String, Checkpoint> entered,
    Map<String, Long> committed,
    int visitsInRun,
    int visitsInCall,
    long tick,
    long callTick,
    @Nullable JsonNode result) {

  /** Where a run is in its life. */
  public enum Status {
    NONE,
    RUNNING,
    COMPLETED,
    CANCELLED,
    ABANDONED
  }

  /** What a run knew when it entered a node. */
  public record Checkpoint(long tick, Memory memory) {}

  public static final RunState NONE =
      new RunState(
          Status.NONE,
          "",
          0,
          "",
          "",
          0,
          0,
          Memory.EMPTY,
          Map.of(),
          Map.of(),
          Map.of(),
          Map.of(),
          0,
          0,
          0,
          0,
          null);

  /** What is left of a run that has ended: that it was, and how it ended. */
  public static RunState ended(Status status, String runId, int version, long at) {
    Draft draft = new Draft(NONE);
    draft.status = status;
    draft.runId = runId;
    draft.version = version;
    draft.changedAt = at;
    return draft.build();
  }

  @JsonIgnore
  public boolean running() {
    return status == Status.RUNNING;
  }

  /** The state's values. The tree is shared: it must not be changed. */
  public ObjectNode data() {
    return memory.data();
  }

  /** The fold: what the state is after one more event. Pure; it calls no code of the author. */
  public RunState apply(Event event) {
    return apply(List.of(event));
  }

  /** The fold of several events. */
  public RunState apply(List<Event> events) {
    if (events.isEmpty()) {
      return this;
    }
    Draft draft = new Draft(this);
    events.forEach(event -> Fold.into(draft, event));
    return draft.build();
  }

  static <K, V> Map<K, V> put(Map<K, V> map, K key, V value) {
    Map<K, V> copy = new LinkedHashMap<>(map);
    copy.put(key, value);
    return copy;
  }

  static <K, V> Map<K, V> remove(Map<K, V> map, K key) {
    Map<K, V> copy = new LinkedHashMap<>(map);
    copy.remove(key);
    return copy;
  }

  /** A state under construction: the one before, with some parts replaced. */
  static final class Draft {
    Status status;
    String runId;
    int version;
    String fingerprint;
    String intent;
    long startedAt;
    long changedAt;
    Memory memory;
    Map<Place, At> places;
    Map<String, Integer> visits;
    Map<String, Checkpoint> entered;
    Map<String, Long> committed;
    int visitsInRun;
    int visitsInCall;
    long tick;
    long callTick;
    @Nullable JsonNode result;

    private Draft(RunState from) {
      status = from.status;
      runId = from.runId;
      version = from.version;
      fingerprint = from.fingerprint;
      intent = from.intent;
      startedAt = from.startedAt;
      changedAt = from.changedAt;
      memory = from.memory;
      places = from.places;
      visits = from.visits;
      entered = from.entered;
      committed = from.committed;
      visitsInRun = from.visitsInRun;
      visitsInCall = from.visitsInCall;
      tick = from.tick;
      callTick = from.callTick;
      result = from.result;
    }

    void call() {
      visitsInCall = 0;
      callTick = tick;
    }

    /** Forgets the run, but not how far the count of events has come. */
    void forget() {
      status = NONE.status;
      runId = NONE.runId;
      version = NONE.version;
      fingerprint = NONE.fingerprint;
      intent = NONE.intent;
      startedAt = NONE.startedAt;
      changedAt = NONE.changedAt;
      memory = NONE.memory;
      places = NONE.places;
      visits = NONE.visits;
      entered = NONE.entered;
      committed = NONE.committed;
      visitsInRun = NONE.visitsInRun;
      visitsInCall = NONE.visitsInCall;
      callTick = NONE.callTick;
      result = NONE.result;
    }

    /** Changes what is known of a place, if the run is there. */
    void at(Place place, UnaryOperator<At> change) {
      At at = places.get(place);
      if (at != null) {
        put(place, change.apply(at));
      }
    }

    void put(Place place, At at) {
      places = RunState.put(places, place, at);
    }

    /** What had happened up to a moment. */
    static Map<String, Long> before(Map<String, Long> ticks, long tick) {
      return ticks.entrySet().stream()
          .filter(e -> e.getValue() <= tick)
          .collect(
              Collectors.toMap(
                  Map.Entry::getKey, Map.Entry::getValue, (a, b) -> a, LinkedHashMap::new));
    }

    private RunState build() {
      return new RunState(
          status,
          runId,
          version,
          fingerprint,
          intent,
          startedAt,
          changedAt,
          memory,
          places,
          visits,
          entered,
          committed,
          visitsInRun,
          visitsInCall,
          tick,
          callTick,
          result);
    }
  }
}

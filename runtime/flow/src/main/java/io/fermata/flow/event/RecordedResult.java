package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of an effect in the run that a fork comes from. It is reused once, for the same effect
 * with the same input.
 *
 * @param tick when the fork had it, in its count of events; 0 if it had not
 * @param version of the flow, whose names it has
 * @param field the field whose answer was checked; null for an action
 * @param read what the effect had read, by path; null where there was nothing
 * @param events its result: the event, and the tags that it gave the run
 */
public record RecordedResult(
    long tick,
    int version,
    Place place,
    @Nullable String field,
    Map<String, JsonNode> read,
    List<Event> events) {

  /**
   * What an event is the result of; null if it is none.
   *
   * @param previous the event before it, which may be a part of the result
   */
  static @Nullable RecordedResult of(RunState state, @Nullable Event previous, Event event) {
    Place place = event.place();
    if (place == null
        || place.undoes()
        || !isResult(event)
        || (event instanceof Event.Stopped stopped && stopped.code() == ErrorCode.SANDBOXED)
        || !(phase(state, place) instanceof Phase.Working working)) {
      return null;
    }
    List<Event> events =
        previous instanceof Event.Tagged tags && tags.place().equals(place)
            ? List.of(tags, event)
            : List.of(event);
    return of(state, place, working.field(), events);
  }

  private static @Nullable Phase phase(RunState state, Place place) {
    PlaceState at = state.places().get(place);
    return at == null ? null : at.phase();
  }

  /** Whether an event is the result of an effect, if its place was working on one. */
  static boolean isResult(Event event) {
    return event instanceof Event.Committed
        || event instanceof Event.Accepted
        || event instanceof Event.Rejected
        || event instanceof Event.AttemptFailed
        || (event instanceof Event.Stopped stopped && stopped.resume() == Event.Resume.WORKING);
  }

  boolean succeeded() {
    return events.stream()
        .noneMatch(e -> e instanceof Event.AttemptFailed || e instanceof Event.Stopped);
  }

  private static RecordedResult of(
      RunState state, Place place, @Nullable String field, List<Event> events) {
    List<String> paths =
        events.get(events.size() - 1) instanceof Event.Committed committed
            ? committed.reads()
            : List.of(field == null ? "" : field);
    ObjectNode data = state.memory(place.branch()).data();
    Map<String, JsonNode> read = new LinkedHashMap<>();
    paths.forEach(path -> read.put(path, value(data, path)));
    return new RecordedResult(state.tick() + 1, state.version(), place, field, read, events);
  }

  RecordedResult at(long when) {
    return new RecordedResult(when, version, place, field, read, events);
  }

  /** The same by the names of another version, if it does not have them yet. */
  RecordedResult named(Renaming names, int to) {
    if (version >= to) {
      return this;
    }
    Map<String, JsonNode> named = new LinkedHashMap<>();
    read.forEach(
        (path, value) -> {
          String name = path.isEmpty() ? path : names.field(path);
          named.put(name, present(names.value(path, value)));
          names.movedOut(path, value).forEach((out, part) -> named.put(out, present(part)));
        });
    return new RecordedResult(
        tick,
        to,
        names.place(place),
        field == null ? null : names.field(field),
        named,
        events.stream().map(names::of).toList());
  }

  private static JsonNode value(ObjectNode data, String path) {
    return present(path.isEmpty() ? data : Paths.get(data, path));
  }

  private static JsonNode present(JsonNode value) {
    return value.isMissingNode() ? NullNode.getInstance() : value;
  }

  /** Whether it is the result of an effect, in any visit of its node and of the forks around it. */
  boolean answers(Place asked, @Nullable String checked, ObjectNode data) {
    return Place.alike(place.branch(), asked.branch())
        && place.node().equals(asked.node())
        && Objects.equals(field, checked)
        && read.entrySet().stream()
            .allMatch(known -> value(data, known.getKey()).equals(known.getValue()));
  }

  /**
   * The results of effects that a run need not perform. One that it has had is known again once a
   * correction leads back before it, so that nothing is taken more often than it happened.
   *
   * @param recorded what it may take, in the order in which it happened
   * @param past what it has had, for when it goes back
   */
  public record Known(List<RecordedResult> recorded, List<RecordedResult> past) {
    static final Known NONE = new Known(List.of(), List.of());

    public Known {
      recorded = List.copyOf(recorded);
      past = List.copyOf(past);
    }

    static Known of(List<RecordedResult> all) {
      return new Known(
          all.stream().filter(one -> one.tick() == 0).toList(),
          all.stream().filter(one -> one.tick() > 0).toList());
    }

    /**
     * What a fork knows at an entry of its source: the results after it, those that the source
     * itself had known from another run, and for corrections those before it.
     *
     * @param at the state at the entry
     */
    public static List<RecordedResult> around(RunState at, List<Event> before, List<Event> after) {
      RunState.Fork fork = at.fork();
      Known known = fork == null ? NONE : fork.known();
      List<RecordedResult> all = new ArrayList<>();
      known.recorded.forEach(one -> all.add(one.at(0)));
      ownAfter(at, after).forEach(one -> all.add(one.at(0)));
      all.addAll(known.equals(NONE) ? had(before) : known.past);
      return List.copyOf(all);
    }

    /** The results of a run without those that it took from another one. */
    private static List<RecordedResult> ownAfter(RunState before, List<Event> events) {
      List<RecordedResult> own = new ArrayList<>();
      RunState state = before;
      Event previous = null;
      for (Event event : events) {
        RecordedResult result = RecordedResult.of(state, previous, event);
        RunState.Fork fork = state.fork();
        if (result != null && (fork == null || answering(fork.known(), state, result) == null)) {
          own.add(result);
        }
        state = state.apply(event);
        previous = event;
      }
      return own;
    }

    /** All that a run has had, also what a correction took back and was not done again since. */
    private static List<RecordedResult> had(List<Event> journal) {
      Known known = NONE;
      RunState state = RunState.NONE;
      Event previous = null;
      for (Event event : journal) {
        RecordedResult result = RecordedResult.of(state, previous, event);
        if (result != null) {
          RecordedResult again = answering(known, state, result);
          known = (again == null ? known : known.without(again)).had(result);
        } else if (event instanceof Event.Reset reset) {
          known = known.back(reset, state.branches());
        } else if (event instanceof Event.Migrated migrated) {
          known = known.migrated(migrated);
        }
        state = state.apply(event);
        previous = event;
      }
      List<RecordedResult> all = new ArrayList<>(known.recorded);
      all.addAll(known.past);
      all.sort(Comparator.comparingLong(RecordedResult::tick));
      return all;
    }

    private static @Nullable RecordedResult answering(
        Known known, RunState state, RecordedResult result) {
      Place place = result.place();
      return known.answering(place, result.field(), state.memory(place.branch()).data());
    }

    /** The result of an effect with the same input; null if it is unknown. */
    @Nullable RecordedResult answering(Place place, @Nullable String field, ObjectNode data) {
      for (RecordedResult one : recorded) {
        if (one.answers(place, field, data)) {
          return one;
        }
      }
      return null;
    }

    Known take(RecordedResult result, long tick) {
      return without(result).had(result.at(tick));
    }

    private Known without(RecordedResult taken) {
      List<RecordedResult> left = new ArrayList<>(recorded);
      left.remove(taken);
      return new Known(left, past);
    }

    /** A failure is not repeated where a correction leads. */
    private Known had(RecordedResult result) {
      return result.succeeded() ? new Known(recorded, RunState.plus(past, result)) : this;
    }

    /** The same by the names of another version. */
    Known migrated(Event.Migrated migrated) {
      Renaming names = Renaming.by(migrated);
      int to = migrated.to();
      return new Known(
          recorded.stream().map(one -> one.named(names, to)).toList(),
          past.stream().map(one -> one.named(names, to)).toList());
    }

    /** Goes back: what the branches had since then may be taken again, before all others. */
    Known back(Event.Reset reset, Map<String, Branch> branches) {
      List<RecordedResult> again = new ArrayList<>();
      List<RecordedResult> kept = new ArrayList<>();
      for (RecordedResult one : past) {
        boolean undone = reset.to().stream().anyMatch(to -> undoes(to, branches, one));
        (undone ? again : kept).add(one);
      }
      again.addAll(recorded);
      return new Known(again, kept);
    }

    private static boolean undoes(Event.Back to, Map<String, Branch> branches, RecordedResult one) {
      String name = to.place().branch();
      Branch branch = branches.get(name);
      Branch.Checkpoint checkpoint = branch == null ? null : branch.entered().get(to.checkpoint());
      return checkpoint != null
          && one.tick() > checkpoint.tick()
          && Place.within(one.place().branch(), name);
    }
  }
}

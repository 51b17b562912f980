package io.fermata.flow.event;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The results of effects that a run need not perform. One that it has had is known again once a
 * correction leads back before it, so that nothing is taken more often than it happened.
 *
 * @param recorded what it may take, in the order in which it happened
 * @param past what it has had, for when it goes back
 */
public record KnownResults(List<RecordedResult> recorded, List<RecordedResult> past) {
  static final KnownResults NONE = new KnownResults(List.of(), List.of());

  public KnownResults {
    recorded = List.copyOf(recorded);
    // A snapshot may be older than what a fork had before its entry.
    past = past == null ? List.of() : List.copyOf(past);
  }

  static KnownResults of(List<RecordedResult> all) {
    return new KnownResults(
        all.stream().filter(one -> one.tick() == 0).toList(),
        all.stream().filter(one -> one.tick() > 0).toList());
  }

  /**
   * What a fork knows at an entry of its source: the results after it, those that the source itself
   * had known from another run, and for corrections those before it.
   *
   * @param at the state at the entry
   */
  public static List<RecordedResult> around(RunState at, List<Event> before, List<Event> after) {
    RunState.Fork fork = at.fork();
    KnownResults known = fork == null ? NONE : fork.known();
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
    KnownResults known = NONE;
    RunState state = RunState.NONE;
    Event previous = null;
    for (Event event : journal) {
      RecordedResult result = RecordedResult.of(state, previous, event);
      if (result != null) {
        RecordedResult again = answering(known, state, result);
        known = (again == null ? known : known.without(again)).had(result);
      } else if (event instanceof Event.Reset reset) {
        known = known.back(reset, state.branches());
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
      KnownResults known, RunState state, RecordedResult result) {
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

  KnownResults take(RecordedResult result, long tick) {
    return without(result).had(result.at(tick));
  }

  private KnownResults without(RecordedResult taken) {
    List<RecordedResult> left = new ArrayList<>(recorded);
    left.remove(taken);
    return new KnownResults(left, past);
  }

  /** A failure is not repeated where a correction leads. */
  private KnownResults had(RecordedResult result) {
    return result.succeeded() ? new KnownResults(recorded, RunState.plus(past, result)) : this;
  }

  /** Goes back: what the branches had since then may be taken again, before all others. */
  KnownResults back(Event.Reset reset, Map<String, Branch> branches) {
    List<RecordedResult> again = new ArrayList<>();
    List<RecordedResult> kept = new ArrayList<>();
    for (RecordedResult one : past) {
      boolean undone = reset.to().stream().anyMatch(to -> undoes(to, branches, one));
      (undone ? again : kept).add(one);
    }
    again.addAll(recorded);
    return new KnownResults(again, kept);
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

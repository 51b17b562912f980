package io.fermata.flow.record;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Recorder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Publishes a session's journal to recorders, entry by entry. A live run and its replayed journal
 * publish the same in the same order.
 *
 * <pre>{@code
 * Narrative narrative = new Narrative();
 * RunObserver observer = RunObserver.of(flow, "session-1", narrative);
 * journal.forEach(entry -> observer.record(entry.seq(), entry.at(), entry.events()));
 * System.out.println(narrative.text());
 * }</pre>
 *
 * <p>Not safe for use by several threads at once.
 */
public final class RunObserver {
  private final ObservationFold fold;
  private final List<AttachedRecorder> attached;
  private @Nullable String run;
  private long failures;

  private RunObserver(ObservationFold fold, List<AttachedRecorder> attached) {
    this.fold = fold;
    this.attached = attached;
  }

  /** Publishes to the flow's own recorders, to those of its sub-flows, and to some more. */
  public static RunObserver of(Flow<?> flow, String session, Recorder... more) {
    List<AttachedRecorder> all = new ArrayList<>(flow.recorders());
    Arrays.stream(more).map(AttachedRecorder::everywhere).forEach(all::add);
    return from(RunState.NONE, flow, session, AttachedRecorder.once(all));
  }

  /** Publishes to these recorders and no others. It may start in the middle of a run. */
  public static RunObserver from(
      RunState state, Flow<?> flow, String session, List<AttachedRecorder> recorders) {
    return new RunObserver(new ObservationFold(flow, session, state), List.copyOf(recorders));
  }

  /** Publishes a journal to a recorder, and to no other, not even the flow's own. */
  static <R extends Recorder> R replayed(Flow<?> flow, R recorder, List<Event> journal) {
    from(RunState.NONE, flow, "", List.of(AttachedRecorder.everywhere(recorder)))
        .record(0, 0, journal);
    return recorder;
  }

  /** Publishes one run and no other: the entry that starts a run may have the end of another. */
  public RunObserver only(String runId) {
    run = runId;
    return this;
  }

  /**
   * Publishes an entry of the journal.
   *
   * @param seq its number in the session
   * @param at when it was written
   * @return all observations derived from it, for any recorder
   */
  public ObservedEntry record(long seq, long at, List<Event> events) {
    ObservedEntry entry = only(fold.of(seq, at, events));
    List<Thrown> thrown = new ArrayList<>();
    deliver(one -> one.announce(entry), thrown);
    report(thrown);
    for (Observation event : entry.observations()) {
      deliver(one -> one.deliver(event), thrown);
      report(thrown);
    }
    return entry;
  }

  private ObservedEntry only(ObservedEntry entry) {
    if (run == null) {
      return entry;
    }
    List<Observation> own =
        entry.observations().stream().filter(one -> one.moment().run().equals(run)).toList();
    return new ObservedEntry(entry.before(), entry.events(), own);
  }

  /** What a recorder threw, and which one it was. */
  private record Thrown(Observation failure, int by) {}

  private void deliver(
      Function<AttachedRecorder, @Nullable Observation> telling, List<Thrown> thrown) {
    for (int i = 0; i < attached.size(); i++) {
      Observation failure = telling.apply(attached.get(i));
      if (failure != null) {
        failures++;
        thrown.add(new Thrown(failure, i));
      }
    }
  }

  /** Notifies the others that a recorder threw. What they throw then is only counted. */
  private void report(List<Thrown> thrown) {
    for (Thrown one : thrown) {
      for (int i = 0; i < attached.size(); i++) {
        if (i != one.by() && attached.get(i).deliver(one.failure()) != null) {
          failures++;
        }
      }
    }
    thrown.clear();
  }

  /** How often a recorder threw. */
  public long failures() {
    return failures;
  }

  /** The state after the entries so far. */
  public RunState state() {
    return fold.state();
  }
}

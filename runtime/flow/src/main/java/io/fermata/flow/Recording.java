package io.fermata.flow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Tells recorders what a session's journal says, record by record. Fed while the run goes on or
 * from a journal of last week, it tells the same in the same order.
 *
 * <pre>{@code
 * Narrative narrative = new Narrative();
 * Recording recording = Recording.of(flow, "session-1", narrative);
 * journal.forEach(entry -> recording.record(entry.seq(), entry.at(), entry.events()));
 * System.out.println(narrative.text());
 * }</pre>
 *
 * <p>Not safe for use by several threads at once.
 */
public final class Recording {
  private final Translation translation;
  private final List<Attached> attached;
  private @Nullable String run;
  private long failures;

  private Recording(Translation translation, List<Attached> attached) {
    this.translation = translation;
    this.attached = attached;
  }

  /** Tells the flow's own recorders, and those of its sub-flows, and some more. */
  public static Recording of(Flow<?> flow, String session, Recorder... more) {
    List<Attached> all = new ArrayList<>(flow.recorders());
    Arrays.stream(more).map(Attached::everywhere).forEach(all::add);
    return new Recording(translation(flow, session, RunState.NONE), Attached.once(all));
  }

  /** For a flow of which only the journal is left. What kind a stage is of is then unknown. */
  public static Recording of(String flow, String session, Recorder... recorders) {
    Translation translation = new Translation(flow, null, session, RunState.NONE);
    return new Recording(translation, Arrays.stream(recorders).map(Attached::everywhere).toList());
  }

  /** Tells these recorders and no others. It may begin in the middle of a run. */
  public static Recording from(
      RunState state, Flow<?> flow, String session, List<Attached> recorders) {
    return new Recording(translation(flow, session, state), List.copyOf(recorders));
  }

  private static Translation translation(Flow<?> flow, String session, RunState state) {
    return new Translation(flow.id(), flow.graph(), session, state);
  }

  /** Tells of one run and no other: the record that begins a run may have the end of another. */
  public Recording only(String runId) {
    run = runId;
    return this;
  }

  /**
   * Tells what a journal record says.
   *
   * @param seq its number in the session
   * @param at when it was written
   * @return all that it comes to, whoever is told of it
   */
  public List<Recorded> record(long seq, long at, List<Event> events) {
    RunState before = translation.state();
    List<Recorded> all = translation.of(seq, at, events);
    List<Recorded> coming =
        run == null ? all : all.stream().filter(one -> one.moment().run().equals(run)).toList();
    List<Thrown> thrown = new ArrayList<>();
    tell(one -> one.announce(before, coming), thrown);
    report(thrown);
    for (Recorded event : coming) {
      tell(one -> one.tell(event), thrown);
      report(thrown);
    }
    return coming;
  }

  /** What a recorder threw, and which one it was. */
  private record Thrown(Recorded.Failure failure, int by) {}

  private void tell(Function<Attached, Recorded.@Nullable Failure> telling, List<Thrown> thrown) {
    for (int i = 0; i < attached.size(); i++) {
      Recorded.Failure failure = telling.apply(attached.get(i));
      if (failure != null) {
        failures++;
        thrown.add(new Thrown(failure, i));
      }
    }
  }

  /** Tells the others that a recorder threw. What they throw at that is only counted. */
  private void report(List<Thrown> thrown) {
    for (Thrown one : thrown) {
      for (int i = 0; i < attached.size(); i++) {
        if (i != one.by() && attached.get(i).tell(one.failure()) != null) {
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

  /** The state that the records so far come to. */
  public RunState state() {
    return translation.state();
  }
}

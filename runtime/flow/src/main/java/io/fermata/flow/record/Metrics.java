package io.fermata.flow.record;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Wait;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.time.Duration;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counts what runs do, node by node, and how long it takes them: how much of it was work, and how
 * much was waiting, for people or for something else. Of a fork it counts what that did itself, not
 * what it has from its source. Safe to read while it counts.
 */
public final class Metrics implements Recorder {
  /** A node of a flow, by its path. */
  public record Node(String flow, String node) {}

  /**
   * What was counted at a node.
   *
   * @param visits how often runs entered it
   * @param abandoned how many of its visits were dropped before it was done
   * @param failures how often it failed for good
   * @param retries how often an attempt failed and another followed
   * @param pauses how often it began to wait, sleeping included
   * @param times how long its visits took
   */
  public record Counts(
      long visits,
      long abandoned,
      long reads,
      long writes,
      long commits,
      long failures,
      long retries,
      long pauses,
      Times times) {

    public Duration spent() {
      return times.spent();
    }

    public Duration worked() {
      return times.worked();
    }

    public Duration waitedForPeople() {
      return times.waitedForPeople();
    }

    public Duration waitedOtherwise() {
      return times.waitedOtherwise();
    }
  }

  /**
   * How long the visits of a node took.
   *
   * @param spent from entering to leaving, as far as both were recorded
   * @param worked what attempts took, whether they succeeded or were retried
   * @param waitedForPeople for answers and choices
   * @param waitedOtherwise for signals, for time, or for a repair
   */
  public record Times(
      Duration spent, Duration worked, Duration waitedForPeople, Duration waitedOtherwise) {}

  /** What became of runs. */
  public record Runs(
      long begun,
      long completed,
      long failed,
      long cancelled,
      long expired,
      long abandoned,
      Duration lived) {}

  /** What is added up at a node. */
  private enum Sum {
    VISITS,
    ABANDONED,
    READS,
    WRITES,
    COMMITS,
    FAILURES,
    RETRIES,
    PAUSES,
    SPENT,
    WORKED,
    PEOPLE,
    OTHERWISE
  }

  private final Map<Node, Map<Sum, Long>> nodes = new LinkedHashMap<>();
  private final Map<RunState.Status, Long> runs = new EnumMap<>(RunState.Status.class);
  private long lived;

  /** The counts of every node, in the order in which runs first entered them. */
  public synchronized Map<Node, Counts> nodes() {
    Map<Node, Counts> counts = new LinkedHashMap<>();
    nodes.forEach((node, sums) -> counts.put(node, counts(sums)));
    return counts;
  }

  /** The counts of one node; all zero if no run entered it. */
  public synchronized Counts node(String flow, String node) {
    return counts(nodes.getOrDefault(new Node(flow, node), Map.of()));
  }

  private static Counts counts(Map<Sum, Long> sums) {
    return new Counts(
        sums.getOrDefault(Sum.VISITS, 0L),
        sums.getOrDefault(Sum.ABANDONED, 0L),
        sums.getOrDefault(Sum.READS, 0L),
        sums.getOrDefault(Sum.WRITES, 0L),
        sums.getOrDefault(Sum.COMMITS, 0L),
        sums.getOrDefault(Sum.FAILURES, 0L),
        sums.getOrDefault(Sum.RETRIES, 0L),
        sums.getOrDefault(Sum.PAUSES, 0L),
        new Times(
            Duration.ofMillis(sums.getOrDefault(Sum.SPENT, 0L)),
            Duration.ofMillis(sums.getOrDefault(Sum.WORKED, 0L)),
            Duration.ofMillis(sums.getOrDefault(Sum.PEOPLE, 0L)),
            Duration.ofMillis(sums.getOrDefault(Sum.OTHERWISE, 0L))));
  }

  public synchronized Runs runs() {
    return new Runs(
        runs.getOrDefault(RunState.Status.RUNNING, 0L),
        runs.getOrDefault(RunState.Status.COMPLETED, 0L),
        runs.getOrDefault(RunState.Status.FAILED, 0L),
        runs.getOrDefault(RunState.Status.CANCELLED, 0L),
        runs.getOrDefault(RunState.Status.EXPIRED, 0L),
        runs.getOrDefault(RunState.Status.ABANDONED, 0L),
        Duration.ofMillis(lived));
  }

  private synchronized void add(Occurrence at, Sum sum, long amount) {
    if (at.place() != null && !at.inherited()) {
      Node node = new Node(at.flow(), at.node());
      nodes.computeIfAbsent(node, n -> new EnumMap<>(Sum.class)).merge(sum, amount, Long::sum);
    }
  }

  private synchronized void run(RunState.Status status, Occurrence at) {
    runs.merge(status, 1L, Long::sum);
    lived += at.took();
  }

  @Override
  public void onStageStart(Occurrence at) {
    add(at, Sum.VISITS, 1);
  }

  @Override
  public void onStageEnd(Occurrence at, boolean done) {
    add(at, Sum.SPENT, at.took());
    add(at, Sum.ABANDONED, done ? 0 : 1);
  }

  @Override
  public void onRead(Occurrence at, Observation.Read event) {
    add(at, Sum.READS, 1);
  }

  @Override
  public void onWrite(Occurrence at, Observation.Written event) {
    if (event.source() == Observation.Source.ACTION) {
      add(at, Sum.WRITES, 1);
    }
  }

  @Override
  public void onCommit(Occurrence at, Event.Committed event) {
    add(at, Sum.COMMITS, 1);
    add(at, Sum.WORKED, at.took());
  }

  @Override
  public void onError(Occurrence at, Observation.Failure event) {
    if (event.recorder() == null) {
      add(at, Sum.FAILURES, 1);
    }
  }

  @Override
  public void onStageRetry(Occurrence at, Event.AttemptFailed event) {
    add(at, Sum.RETRIES, 1);
    add(at, Sum.WORKED, at.took());
  }

  @Override
  public void onPause(Occurrence at, Observation.Pause event) {
    add(at, Sum.PAUSES, 1);
  }

  @Override
  public void onResume(Occurrence at, Observation.Resume event) {
    boolean people = event.what() == Wait.ANSWER || event.what() == Wait.WIDGET;
    add(at, people ? Sum.PEOPLE : Sum.OTHERWISE, at.took());
  }

  @Override
  public void onRunStart(Occurrence at, Observation.RunStart event) {
    run(RunState.Status.RUNNING, at);
  }

  @Override
  public void onRunEnd(Occurrence at, Observation.RunEnd event) {
    run(event.status(), at);
  }

  @Override
  public void onRunFailed(Occurrence at, Event.Failed event) {
    run(RunState.Status.FAILED, at);
  }
}

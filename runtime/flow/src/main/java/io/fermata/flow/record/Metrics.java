package io.fermata.flow.record;

import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Counts what runs do, node by node, and how long it takes them: how much of it was work, and how
 * much was waiting, for people or for something else. Safe to read while it counts.
 */
public final class Metrics implements Recorder {
  /** A node of a flow, by its path. */
  public record Node(String flow, String node) {}

  /**
   * What was counted at a node.
   *
   * @param visits how often runs came to it
   * @param givenUp how many of its visits were given up before it was done
   * @param failures how often it failed for good
   * @param retries how often an attempt failed and another followed
   * @param pauses how often it began to wait, sleeping included
   * @param times how long its visits took
   */
  public record Counts(
      long visits,
      long givenUp,
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
      long begun, long completed, long failed, long cancelled, long abandoned, Duration lived) {}

  private static final class Tally {
    long visits;
    long givenUp;
    long reads;
    long writes;
    long commits;
    long failures;
    long retries;
    long pauses;
    long spent;
    long worked;
    long people;
    long otherwise;

    Counts counts() {
      return new Counts(
          visits,
          givenUp,
          reads,
          writes,
          commits,
          failures,
          retries,
          pauses,
          new Times(
              Duration.ofMillis(spent),
              Duration.ofMillis(worked),
              Duration.ofMillis(people),
              Duration.ofMillis(otherwise)));
    }
  }

  private final Map<Node, Tally> nodes = new LinkedHashMap<>();
  private long begun;
  private long completed;
  private long failed;
  private long cancelled;
  private long abandoned;
  private long lived;

  /** The counts of every node, in the order in which runs first came to them. */
  public synchronized Map<Node, Counts> nodes() {
    Map<Node, Counts> counts = new LinkedHashMap<>();
    nodes.forEach((node, tally) -> counts.put(node, tally.counts()));
    return counts;
  }

  /** The counts of one node; all zero if no run came to it. */
  public synchronized Counts node(String flow, String node) {
    return nodes.getOrDefault(new Node(flow, node), new Tally()).counts();
  }

  public synchronized Runs runs() {
    return new Runs(begun, completed, failed, cancelled, abandoned, Duration.ofMillis(lived));
  }

  private synchronized void count(Occurrence moment, Consumer<Tally> counting) {
    if (moment.place() != null) {
      Node node = new Node(moment.flow(), moment.node());
      counting.accept(nodes.computeIfAbsent(node, n -> new Tally()));
    }
  }

  @Override
  public void onStageStart(Observation.StageStart event) {
    count(event.moment(), tally -> tally.visits++);
  }

  @Override
  public void onStageEnd(Observation.StageEnd event) {
    count(
        event.moment(),
        tally -> {
          tally.spent += event.millis() == null ? 0 : event.millis();
          tally.givenUp += event.done() ? 0 : 1;
        });
  }

  @Override
  public void onRead(Observation.Read event) {
    count(event.moment(), tally -> tally.reads++);
  }

  @Override
  public void onWrite(Observation.Written event) {
    if (event.source() == Observation.Source.ACTION) {
      count(event.moment(), tally -> tally.writes++);
    }
  }

  @Override
  public void onCommit(Observation.Commit event) {
    count(
        event.moment(),
        tally -> {
          tally.commits++;
          tally.worked += event.millis();
        });
  }

  @Override
  public void onError(Observation.Failure event) {
    if (event.recorder() == null) {
      count(event.moment(), tally -> tally.failures++);
    }
  }

  @Override
  public void onStageRetry(Observation.StageRetry event) {
    count(
        event.moment(),
        tally -> {
          tally.retries++;
          tally.worked += event.millis();
        });
  }

  @Override
  public void onPause(Observation.Pause event) {
    count(event.moment(), tally -> tally.pauses++);
  }

  @Override
  public void onSleep(Observation.Sleep event) {
    count(event.moment(), tally -> tally.pauses++);
  }

  @Override
  public void onResume(Observation.Resume event) {
    boolean people =
        event.what() == Observation.Wait.ANSWER || event.what() == Observation.Wait.WIDGET;
    count(
        event.moment(),
        tally -> {
          tally.people += people ? event.waited() : 0;
          tally.otherwise += people ? 0 : event.waited();
        });
  }

  @Override
  public synchronized void onRunStart(Observation.RunStart event) {
    begun++;
  }

  @Override
  public synchronized void onRunEnd(Observation.RunEnd event) {
    completed += event.status() == RunState.Status.COMPLETED ? 1 : 0;
    cancelled += event.status() == RunState.Status.CANCELLED ? 1 : 0;
    abandoned += event.status() == RunState.Status.ABANDONED ? 1 : 0;
    lived += event.millis();
  }

  @Override
  public synchronized void onRunFailed(Observation.RunFailed event) {
    failed++;
    lived += event.millis();
  }
}

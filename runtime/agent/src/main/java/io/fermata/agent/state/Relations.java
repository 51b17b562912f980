package io.fermata.agent.state;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A thread's children, and its pending reports and withdrawals.
 *
 * @param children by thread id
 * @param reports the reports that the parent has not acknowledged yet
 * @param reported how many reports there have been
 * @param abandonedCalls calls that ended while other work for them must still be withdrawn
 * @param deliveries the reports and withdrawals whose delivery failed, by effect
 */
public record Relations(
    Map<String, ChildThread> children,
    List<ThreadEvent.ReportPending> reports,
    long reported,
    List<ThreadEvent.CallAbandoned> abandonedCalls,
    Map<String, Delivery> deliveries) {

  static final Relations NONE = new Relations(Map.of(), List.of(), 0, List.of(), Map.of());

  /**
   * A delivery that failed.
   *
   * @param due when the next attempt begins; null if it is in progress
   */
  public record Delivery(int attempt, @Nullable Long due) {}

  /** With the children alone. */
  Relations outline() {
    return new Relations(children, List.of(), reported, List.of(), Map.of());
  }

  Relations with(ChildThread child) {
    return withChild(child.threadId(), child);
  }

  Relations withoutChild(String threadId) {
    return withChild(threadId, null);
  }

  private Relations withChild(String threadId, @Nullable ChildThread child) {
    Map<String, ChildThread> all = ThreadState.put(children, threadId, child);
    return new Relations(all, reports, reported, abandonedCalls, deliveries);
  }

  Relations withReport(ThreadEvent.ReportPending report) {
    List<ThreadEvent.ReportPending> all = new ArrayList<>(reports);
    all.add(report);
    return new Relations(children, List.copyOf(all), report.report(), abandonedCalls, deliveries);
  }

  Relations reported(long report) {
    List<ThreadEvent.ReportPending> rest = new ArrayList<>(reports);
    rest.removeIf(pending -> pending.report() == report);
    return new Relations(children, List.copyOf(rest), reported, abandonedCalls, deliveries)
        .delivery(ThreadEffect.delivery(ThreadEffect.Kind.REPORT, "" + report), null);
  }

  Relations abandoning(ThreadEvent.CallAbandoned left) {
    List<ThreadEvent.CallAbandoned> all = new ArrayList<>(abandonedCalls);
    all.add(left);
    return new Relations(children, reports, reported, List.copyOf(all), deliveries);
  }

  Relations withdrawn(String call) {
    List<ThreadEvent.CallAbandoned> rest = new ArrayList<>(abandonedCalls);
    rest.removeIf(left -> left.call().equals(call));
    return new Relations(children, reports, reported, List.copyOf(rest), deliveries)
        .delivery(ThreadEffect.delivery(ThreadEffect.Kind.WITHDRAW, call), null);
  }

  Relations delivery(String what, @Nullable Delivery delivery) {
    Map<String, Delivery> all = ThreadState.put(deliveries, what, delivery);
    return new Relations(children, reports, reported, abandonedCalls, all);
  }

  /** The relations of a deleted thread, without retries of failed deliveries. */
  Relations deleted() {
    return new Relations(children, reports, reported, abandonedCalls, Map.of());
  }
}

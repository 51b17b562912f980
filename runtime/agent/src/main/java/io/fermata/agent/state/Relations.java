package io.fermata.agent.state;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A thread's children, and what it has yet to report to its parent or withdraw elsewhere.
 *
 * @param children by thread id
 * @param reports the reports that the parent has yet to acknowledge
 * @param reported how many reports there have been
 * @param leftBehind work elsewhere for calls that were ended, which has yet to be withdrawn
 * @param tellings the reports and withdrawals whose delivery failed, by effect
 */
public record Relations(
    Map<String, ChildThread> children,
    List<ThreadEvent.ReportOwed> reports,
    long reported,
    List<ThreadEvent.LeftBehind> leftBehind,
    Map<String, Telling> tellings) {

  static final Relations NONE = new Relations(Map.of(), List.of(), 0, List.of(), Map.of());

  /**
   * A delivery that failed.
   *
   * @param due when the next attempt begins; null if it is in progress
   */
  public record Telling(int attempt, @Nullable Long due) {}

  Relations with(ChildThread child) {
    return withChild(child.threadId(), child);
  }

  Relations withoutChild(String threadId) {
    return withChild(threadId, null);
  }

  private Relations withChild(String threadId, @Nullable ChildThread child) {
    Map<String, ChildThread> all = ThreadState.put(children, threadId, child);
    return new Relations(all, reports, reported, leftBehind, tellings);
  }

  Relations owing(ThreadEvent.ReportOwed report) {
    List<ThreadEvent.ReportOwed> all = new ArrayList<>(reports);
    all.add(report);
    return new Relations(children, List.copyOf(all), report.report(), leftBehind, tellings);
  }

  Relations reported(long report) {
    List<ThreadEvent.ReportOwed> rest = new ArrayList<>(reports);
    rest.removeIf(owed -> owed.report() == report);
    return new Relations(children, List.copyOf(rest), reported, leftBehind, tellings)
        .telling(ThreadEffect.delivery(ThreadEffect.Kind.REPORT, "" + report), null);
  }

  Relations leavingBehind(ThreadEvent.LeftBehind left) {
    List<ThreadEvent.LeftBehind> all = new ArrayList<>(leftBehind);
    all.add(left);
    return new Relations(children, reports, reported, List.copyOf(all), tellings);
  }

  Relations withdrawn(String call) {
    List<ThreadEvent.LeftBehind> rest = new ArrayList<>(leftBehind);
    rest.removeIf(left -> left.call().equals(call));
    return new Relations(children, reports, reported, List.copyOf(rest), tellings)
        .telling(ThreadEffect.delivery(ThreadEffect.Kind.WITHDRAW, call), null);
  }

  Relations telling(String what, @Nullable Telling telling) {
    Map<String, Telling> all = ThreadState.put(tellings, what, telling);
    return new Relations(children, reports, reported, leftBehind, all);
  }

  /** What is left of them when the thread is deleted: failed deliveries are not retried. */
  Relations deleted() {
    return new Relations(children, reports, reported, leftBehind, Map.of());
  }
}

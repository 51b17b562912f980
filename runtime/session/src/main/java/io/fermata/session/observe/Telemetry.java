package io.fermata.session.observe;

import io.fermata.session.key.TraceContext;
import java.util.List;

/**
 * Hears of the work of a host, and of the doors that lead to it, while it is done: what meters
 * count and spans time. {@link io.fermata.session.telemetry} has one for Micrometer and one for
 * OpenTelemetry. What runs came to, a {@link io.fermata.flow.observe.Recorder} hears of in full.
 *
 * <p>It is told on the threads that do the work, so it must not block. What it throws is logged and
 * changes nothing. Of what it is told nothing is a client's own words, and all names are of what
 * the host registered, except those of runs and threads.
 */
public interface Telemetry {
  /** Hears nothing. */
  Telemetry NONE = new Telemetry() {};

  /** Several at once, kept from disturbing anybody. */
  static Telemetry of(Telemetry... all) {
    return Telemetries.of(List.of(all));
  }

  /** A tool is called: that of a flow or an agent, or a plain one. */
  default Activity called(Call call) {
    return Activity.NONE;
  }

  /** An attempt at an effect of a run or a thread begins, on the thread that works for it. */
  default Activity performing(Effect effect) {
    return Activity.NONE;
  }

  /** Something became of a run, and the journal has it. */
  default void changed(String flow, RunChange change) {}

  /** Records were appended to a journal together. */
  default void appended(int records, long nanos) {}

  /** A session that slept is awake, and has read its journal. */
  default void woke(long nanos) {}

  /**
   * A request of a client was answered.
   *
   * @param method the protocol's name of it, or {@code unknown}
   * @param outcome {@code ok}, {@code refused} or {@code failed}
   */
  default void requested(String method, String outcome, long nanos) {}

  /** A host has started, and can be asked how much there is until it has closed. */
  default void opened(Gauges gauges) {}

  /** The host has closed. */
  default void closed(Gauges gauges) {}

  /** How much there is of something now. */
  interface Gauges {
    /** Sessions in memory. */
    int awake();

    /** Those of them that read their journals. */
    int waking();

    /** Calls of flows that wait for their reply. */
    int callsInFlight();
  }

  /** What is called. */
  enum Kind {
    FLOW,
    AGENT,
    PLAIN
  }

  /**
   * A call of a tool.
   *
   * @param caller the trace that it belongs to
   */
  record Call(String tool, Kind kind, TraceContext caller) {}

  /**
   * An attempt at an effect.
   *
   * @param kind whether it is a flow's or an agent's
   * @param name the flow, or the agent
   * @param version the version of the flow; 0 of an agent
   * @param run the run, or the thread
   * @param step the node, or the kind of effect of an agent
   * @param what what is done for the node
   * @param cause the call that led to it; nothing after a restart
   */
  record Effect(
      Kind kind,
      String name,
      int version,
      String run,
      String step,
      String what,
      int attempt,
      TraceContext cause) {}

  /** What can become of a run. */
  enum RunChange {
    BEGUN,
    PAUSED,
    STOPPED,
    COMPLETED,
    FAILED,
    CANCELLED,
    EXPIRED,
    ABANDONED
  }
}

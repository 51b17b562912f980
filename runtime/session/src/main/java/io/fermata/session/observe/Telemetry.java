package io.fermata.session.observe;

import io.fermata.session.key.TraceContext;
import java.util.List;
import java.util.function.DoubleSupplier;

/**
 * Receives what meters count and spans time, of a host and its transports, while it happens. {@link
 * io.fermata.session.telemetry} has one for Micrometer and one for OpenTelemetry. A {@link
 * io.fermata.flow.observe.Recorder} receives the full history of runs.
 *
 * <p>It is called on the threads that do the work, so it must not block. What it throws is logged
 * and has no effect. It receives no content of clients, and only names that the host registered,
 * besides the ids of runs and threads.
 */
public interface Telemetry {
  /** Ignores everything. */
  Telemetry NONE = new Telemetry() {};

  /** Combines several, and isolates the host from what they throw. */
  static Telemetry of(Telemetry... all) {
    return Telemetries.of(List.of(all));
  }

  /** A tool is called, or a server answers a request about threads or runs. */
  default Activity called(Call call) {
    return Activity.NONE;
  }

  /** An attempt of an effect starts, on the thread of its handler. */
  default Activity performing(Effect effect) {
    return Activity.NONE;
  }

  /**
   * Something was counted or timed. Changes of runs and replies of models are journaled by then.
   *
   * @param value what the kind of the meter says
   * @param tags the values of its tags, in their order
   */
  default void measured(Meter meter, double value, List<String> tags) {}

  /**
   * A host or a server has started, or a host joins a cluster. The gauges are readable until it
   * closes.
   */
  default void opened(List<Gauge> gauges) {}

  /** It has closed, left the cluster, or was stopped; its gauges are those it opened with. */
  default void closed(List<Gauge> gauges) {}

  /**
   * A meter that is read.
   *
   * @param tags the values of its tags, in their order
   */
  record Gauge(Meter meter, List<String> tags, DoubleSupplier value) {}

  /** Why a server refused a request or closed a connection. */
  enum Refusal {
    /** The request has no valid key or token. */
    UNAUTHENTICATED,
    /** The token lacks a scope, or the host or the origin of the request is not allowed. */
    FORBIDDEN,
    /** The principal sends more requests than its rate permits. */
    RATE,
    /** The connection served no call and was closed for a new one. */
    REPLACED,
    /** All connections are in use. */
    NO_ROOM,
    /** The request did not arrive in time. */
    LATE
  }

  /** What became of an occurrence of a schedule. */
  enum Start {
    /** Its run began; {@link Meter#RUNS} says what becomes of it. */
    STARTED,
    /** Its run did not begin, or failed at once. */
    FAILED,
    /** The host could not start it yet, and will try again. */
    DELAYED
  }

  /** What is called. */
  enum Kind {
    FLOW,
    AGENT,
    /** A tool that is neither. */
    PLAIN,
    /** An API over HTTP besides MCP. */
    HTTP
  }

  /**
   * A call.
   *
   * @param tool the name of the tool, or the path of the API
   * @param caller the caller's trace
   */
  record Call(String tool, Kind kind, TraceContext caller) {}

  /**
   * An attempt of an effect.
   *
   * @param kind whether it belongs to a flow or an agent
   * @param name the flow, or the agent
   * @param version the version of the flow; 0 for an agent
   * @param run the run, or the thread
   * @param step the node, or an agent's kind of effect
   * @param what the kind of the effect
   * @param cause the trace of the call that led to it; none after a restart
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

  /** The changes of a run. */
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

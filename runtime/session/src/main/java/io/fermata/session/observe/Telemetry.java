package io.fermata.session.observe;

import io.fermata.agent.model.Usage;
import io.fermata.flow.event.ErrorCode;
import io.fermata.persistence.spi.StorePool;
import io.fermata.session.key.TraceContext;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
   * The state of a run changed, and the change is journaled.
   *
   * @param code why it stopped or failed; null for other changes
   */
  default void changed(String flow, RunChange change, @Nullable ErrorCode code) {}

  /** A schedule has called the flow that it starts. */
  default void scheduled(String schedule, Start outcome) {}

  /** Entries were appended to a journal in one write. */
  default void appended(int records, long nanos) {}

  /** A session woke up and has read its journal. */
  default void woke(long nanos) {}

  /**
   * A session could not be read: when it was called, or due.
   *
   * @param code why, such as {@code damaged}; not for an outage of the store, which passes
   */
  default void unreadable(String code) {}

  /**
   * A client's request got its response.
   *
   * @param method the name in the protocol, or {@code unknown}
   * @param outcome {@code ok}, {@code refused} or {@code failed}
   */
  default void requested(String method, String outcome, long nanos) {}

  /** A server refused a request, or closed a connection without answering. */
  default void refused(Refusal reason) {}

  /**
   * A model replied to an agent, and its reply is journaled.
   *
   * @param usage what the reply cost; without a price its cost is zero
   */
  default void modelReplied(String agent, String model, Usage usage) {}

  /**
   * A host or a server has started, or a host joins a cluster. The gauges are readable until it
   * closes.
   */
  default void opened(Gauged gauges) {}

  /** It has closed, left the cluster, or was stopped. */
  default void closed(Gauged gauges) {}

  /** What has gauges. */
  sealed interface Gauged permits Gauges, ClusterGauges, ServerGauges {}

  /** The gauges of a host. */
  non-sealed interface Gauges extends Gauged {
    /** Sessions in memory. */
    int awake();

    /** Sessions that are reading their journals. */
    int waking();

    /** Calls in flight; a call that another host has sent is counted there alone. */
    int callsInFlight();

    /** Sessions whose timers are due soon. */
    int due();

    /** Schedules that start runs. */
    int schedules();

    /** How long the session whose timer is overdue longest should have been woken by now. */
    Duration timerLag();

    /** How long sessions with unfinished work have waited since the host took them over. */
    Duration resumeLag();

    /** The connection pools of the host's store. */
    List<StorePool> pools();
  }

  /** What a host sees of its cluster. */
  non-sealed interface ClusterGauges extends Gauged {
    /** Members that can be reached, this host included. */
    int up();

    /** Members that this host, or another one, cannot reach. */
    int unreachable();

    /** Shards that this host holds. */
    int shards();

    /** The time since the database renewed this host's heartbeat and the lease of its cluster. */
    Duration heartbeat();

    /** Calls that were sent to another host again, as it had not confirmed them in time. */
    long resends();

    /** Writes that the store refused, as this host did not hold their shard. */
    long refusals();
  }

  /** The host has taken a shard in the store. */
  default void shardAcquired(long nanos) {}

  /** The host has handed a shard over, whose sessions have stopped. */
  default void shardHandedOver(long nanos) {}

  /** Another host has replied to a call that was sent to it, or confirmed it if it takes longer. */
  default void forwarded(long nanos) {}

  /** The gauges of a server over HTTP. */
  non-sealed interface ServerGauges extends Gauged {
    /** Open connections. */
    int connections();

    /** Open event streams of threads, and of changes. */
    int streams();
  }

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
    /** Its run began; {@link Telemetry#changed} says what becomes of it. */
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

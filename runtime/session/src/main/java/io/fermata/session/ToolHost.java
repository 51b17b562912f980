package io.fermata.session;

import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.Health;
import io.fermata.session.call.HostBus;
import io.fermata.session.call.LocalBus;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import io.fermata.session.observe.Telemetry;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** The interface of a host for transports: its tools, and calls of them. */
public interface ToolHost {
  /** The flows, and then the agents, each as one tool, in the order they were registered. */
  List<ToolContract> tools();

  /** The tools that render widgets, in the order they were registered. */
  List<DisplayTool> displays();

  /**
   * Calls the tool of a flow or an agent. The stage never fails: errors are replies with the status
   * {@code error}. It completes on a thread for replies, which the caller may block.
   *
   * @param progress receives the progress of nodes during the call: on any thread, in order, and
   *     never after the reply has completed. It must not block and not throw
   * @throws IllegalArgumentException if there is no flow and no agent with the call's name
   */
  CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress);

  /** Calls a tool without progress. */
  default CompletionStage<ToolReply> call(ToolCall call) {
    return call(call, ignored -> {});
  }

  /** Its runs as tasks, for callers that do not wait. */
  default Tasks tasks() {
    return Tasks.none();
  }

  /** Whether it can accept calls now, and if not, why. */
  default CompletionStage<Health> health() {
    return CompletableFuture.completedFuture(Health.GOOD);
  }

  /** What it sees of its cluster; empty for the only host of a store. */
  default Optional<ClusterHealth> cluster() {
    return Optional.empty();
  }

  /**
   * Completes, with the reason, if the host has lost its store for good: the file was deleted or
   * replaced, or another host took the store over. It writes nothing any more; end the process, so
   * that a supervisor restarts it.
   */
  default CompletionStage<String> lost() {
    return new CompletableFuture<>();
  }

  /**
   * Replies to all calls in flight as if their deadline had passed: the work continues, and the
   * outcome is fetched later. For use before closing.
   */
  default void handBack() {}

  /** The telemetry of calls. */
  default Telemetry telemetry() {
    return Telemetry.NONE;
  }

  /**
   * What passes messages to its other servers, and to those of the other hosts of its cluster.
   * Without an own one, each server is alone.
   */
  default HostBus bus() {
    return new LocalBus();
  }

  /** Mints and recognises session handles. */
  Handles handles();
}

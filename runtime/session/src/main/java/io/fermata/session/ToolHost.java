package io.fermata.session;

import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.Health;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import io.fermata.session.observe.Telemetry;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** What a transport needs of a host: which tools there are, and a way to call them. */
public interface ToolHost {
  /** The flows, and then the agents, each as one tool, in the order they were registered. */
  List<ToolContract> tools();

  /** The tools that render widgets, in the order they were registered. */
  List<DisplayTool> displays();

  /**
   * Calls the tool of a flow or an agent. The stage never fails: what goes wrong is a reply whose
   * status is {@code error}. It completes on a thread kept for replies, which a caller may hold.
   *
   * @param progress is told what nodes tell while the call is under way: on any thread, one after
   *     the other in the order they told it, and never after the reply has completed. It must not
   *     block, and not throw
   * @throws IllegalArgumentException if there is no flow and no agent with the call's name
   */
  CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress);

  /** Calls a tool for a caller who only wants the reply. */
  default CompletionStage<ToolReply> call(ToolCall call) {
    return call(call, unheard -> {});
  }

  /** Its runs as tasks, for callers who do not wait. */
  default Tasks tasks() {
    return Tasks.none((call, progress) -> call(call, progress));
  }

  /** Whether it can take calls now. */
  default CompletionStage<Health> health() {
    return CompletableFuture.completedFuture(Health.GOOD);
  }

  /**
   * Lets no call wait any longer: each that is under way is told that its work goes on, and how to
   * ask for the outcome, as if its deadline had passed. For those who are about to close.
   */
  default void handBack() {}

  /** Who hears of the work that is done for calls. */
  default Telemetry telemetry() {
    return Telemetry.NONE;
  }

  /** Mints and recognises session handles. */
  Handles handles();
}

package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.FlowState;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelListener;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadStorage;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The host as seen by a thread's effects. Interrupted effects are repeated, so every method is
 * idempotent by its keys.
 */
public interface Outside {
  /** Milliseconds of the epoch. */
  long now();

  /** Publishes a part of a model's reply to the subscribers of the thread. */
  void publish(MessageDelta tiding);

  /** Runs the handler of a tool that was called. */
  default @Nullable Object run(Tool tool, FlowState flow, ObjectNode arguments) throws Exception {
    return tool.handler().run(flow, arguments);
  }

  /** Runs the handler of a tool that author code invokes, invisibly to the model. */
  default @Nullable Object invoke(Tool tool, FlowState flow, ObjectNode arguments)
      throws Exception {
    return tool.handler().run(flow, arguments);
  }

  /** Asks a model for the next message. */
  default ModelReply ask(Model model, ChatRequest request, ModelListener listener)
      throws InterruptedException {
    return model.call(request, listener);
  }

  /** A variable of the host's environment; null if it is not set. */
  @Nullable String env(String property);

  /**
   * Calls a flow, or polls a call of it. The stage completes on a thread that author code may
   * block.
   */
  CompletionStage<FlowOutcome> callFlow(
      String flow, String callKey, ObjectNode arguments, FlowAttempt attempt);

  /** An attempt of a call of a flow, by whether its run has begun. */
  enum FlowAttempt {
    /** It has not. */
    FIRST,
    /** It may have begun: else it begins. */
    REPEATED,
    /** It has: if it is gone, as it was erased, the call ends with an error. */
    LOOK
  }

  /** Passes a person's answer to a flow, like {@link #callFlow}. */
  CompletionStage<FlowOutcome> answerFlow(
      String flow, String callKey, String answerId, ObjectNode answers);

  /** What the latest call of a flow did, in words; see {@link FlowState#explainFlow}. */
  default CompletionStage<String> explainFlow(String flow, String about, @Nullable String field) {
    return CompletableFuture.failedFuture(
        new UnsupportedOperationException("There are no runs to read here"));
  }

  /** The outcome of a call of a flow. */
  sealed interface FlowOutcome {
    record Result(String text, boolean failed, List<ThreadEvent.Change> changes)
        implements FlowOutcome {}

    record Asking(JsonNode question) implements FlowOutcome {}

    /**
     * It continues by itself: poll again soon.
     *
     * @param begun whether its run is known to have begun
     */
    record Unfinished(boolean begun) implements FlowOutcome {}

    /**
     * It waits for a moment, a signal, another person, or a host that can continue it.
     *
     * @param waitsFor for what, in words
     * @param until when it continues by itself at the latest; null if it never does
     */
    record Waiting(String waitsFor, @Nullable Long until) implements FlowOutcome {}
  }

  /** Whether a thread may be handed over to an agent, as all hosts that may run it have that. */
  default boolean allHave(String agent) {
    return true;
  }

  /**
   * Creates a child, if it does not exist, and posts a message to it, if that was not posted yet.
   *
   * @param principal the owner of a new child
   * @param parent this thread, with the call, which names the child, if it is to be created, and
   *     the message
   * @param child the child to continue with; null to create one
   * @return the child's thread id
   */
  CompletionStage<String> delegate(
      SubAgent relation,
      String principal,
      ThreadEvent.Parent parent,
      @Nullable String child,
      String message);

  /**
   * Withdraws the work for a call that was ended: compensates what a flow did, stops a child, or
   * deletes the child that was created for the call, if any. Fails if it is worth another attempt.
   *
   * @return why the work stays as it is until another release or key is there, if it does
   */
  CompletionStage<Optional<String>> withdraw(ThreadEvent.CallAbandoned left);

  /**
   * Reports to the parent, and through it to every ancestor, what the thread has spent in all.
   *
   * @return which budget of an ancestor is spent, if any is: then no model may be called
   */
  CompletionStage<Optional<String>> spent(ThreadEvent.Parent parent, Usage total);

  /**
   * Reports a result, or the status of an unfinished thread, to the parent; completes when the
   * parent has journaled it.
   *
   * @param working whether the thread works on after a result, and will report again
   * @param spent what the thread has used in all
   */
  CompletionStage<Void> report(
      ThreadEvent.Parent parent, ThreadEvent.ReportPending pending, boolean working, Usage spent);

  /** Reports to the parent that this thread was deleted; completes when that is journaled. */
  CompletionStage<Void> reportDeleted(ThreadEvent.Parent parent, Usage spent);

  /**
   * The journaled messages of the thread, the latest first.
   *
   * @param before the message before which they lie; null for the end
   * @param depth the deepest to be listed
   */
  CompletionStage<List<Message>> history(@Nullable String before, int limit, int depth);

  /** The bytes of a file. */
  CompletionStage<byte[]> file(ThreadStorage.StoredFile file);

  /**
   * Erases the thread and its children from the store, and the runs of its calls. Fails while a
   * child is still withdrawing its own work.
   *
   * @param left the calls that were still open
   */
  CompletionStage<Void> erase(List<String> children, List<ThreadEvent.CallAbandoned> left);
}

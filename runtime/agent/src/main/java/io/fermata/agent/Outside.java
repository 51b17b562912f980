package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What a thread's effects need of their host. Everything named twice happens once: an effect that
 * was cut off is performed again.
 */
public interface Outside {
  /** Milliseconds of the epoch. */
  long now();

  /** Lets those who watch the thread hear what a model says, while it says it. */
  void tell(Tiding tiding);

  /**
   * A piece of what is being said; nothing keeps it.
   *
   * @param messageId the message that it will be part of
   * @param kind {@code text}, {@code thinking}, or {@code void}: what was told of the message so
   *     far is not to be counted on
   */
  record Tiding(String messageId, String kind, String text) {}

  /** What the host's environment has for a property; null if nothing. */
  @Nullable String env(String property);

  /**
   * Calls a flow, or asks again what the call has come to. The stage completes on a thread that
   * authors' code may hold.
   */
  CompletionStage<FlowOutcome> callFlow(String flow, String callKey, ObjectNode arguments);

  /** Brings a person's answer to a flow; as {@link #callFlow}. */
  CompletionStage<FlowOutcome> answerFlow(
      String flow, String callKey, String answerId, ObjectNode answers);

  /** Ends a call of a flow; what it did is undone. */
  CompletionStage<Void> withdrawFlow(String flow, String callKey);

  /** What a call of a flow has come to. */
  sealed interface FlowOutcome {
    record Result(String text, boolean failed, List<ThreadEvent.Change> changes)
        implements FlowOutcome {}

    record Asking(JsonNode question) implements FlowOutcome {}

    /** It goes on by itself: ask again later. */
    record Unfinished(String reason) implements FlowOutcome {}
  }

  /**
   * Creates a child, if it does not exist, and posts a message to it, if that was not posted yet.
   *
   * @param principal whom a new child belongs to
   * @param callKey names the child, if it is to be created, and the message
   * @param child the child to go on with; null to create one
   * @return the child's thread id
   */
  CompletionStage<String> delegate(
      SubAgent relation, String principal, String callKey, @Nullable String child, String message);

  /** Deletes the child that a call creates, if it did. */
  CompletionStage<Void> discardChild(String agent, String callKey);

  /** Tells the parent what this thread came to; completes when the parent's journal has it. */
  CompletionStage<Void> report(ThreadEvent.Parent parent, long report, boolean failed, String text);

  /** Tells the parent how this thread stands while it is not done, in the order of reports. */
  CompletionStage<Void> stands(ThreadEvent.Parent parent, long report, ChildThread.Status status);

  /** Tells the parent that this thread is gone; completes when the parent's journal has it. */
  CompletionStage<Void> tellGone(ThreadEvent.Parent parent);

  /** Stops a child. */
  CompletionStage<Void> stopChild(String threadId);

  /**
   * The messages of the thread, those of the journal, the latest first.
   *
   * @param before the message before which they lie; null for the end
   * @param depth the deepest to be listed
   */
  CompletionStage<List<Message>> history(@Nullable String before, int limit, int depth);

  /** The bytes of a file. */
  CompletionStage<byte[]> file(Shelf.StoredFile file);

  /** Deletes everything that is kept of the thread, its children included. */
  CompletionStage<Void> erase(List<String> children);
}

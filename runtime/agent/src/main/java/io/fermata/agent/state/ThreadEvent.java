package io.fermata.agent.state;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.JsonTypeIdResolver;
import io.fermata.agent.FlowState;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Reasoning;
import io.fermata.agent.model.Usage;
import io.fermata.flow.json.KindNames;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An event of a thread. A thread's state is the fold of its events alone, and an event contains
 * everything that the fold needs, so replay calls no agent code.
 *
 * <p>Names, those of its kinds included, are part of the journal's format: they never change. Times
 * are milliseconds of the epoch.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.CUSTOM, property = "e")
@JsonTypeIdResolver(KindNames.class)
public sealed interface ThreadEvent {

  /**
   * The messages that it brings, at top level or inside a sub-prompt. One that is received comes
   * again once it is taken, as hooks made it.
   */
  default List<Message> messages() {
    return List.of();
  }

  /** What brings one message. */
  sealed interface OfMessage extends ThreadEvent {
    Message message();

    @Override
    default List<Message> messages() {
      return List.of(message());
    }
  }

  /** A change that author code made through its {@link FlowState}. */
  sealed interface Change extends ThreadEvent {}

  /** What happened to a call, by its key. */
  sealed interface OfCall extends ThreadEvent {
    String call();
  }

  // --- the thread ------------------------------------------------------------------------------

  /**
   * A thread was created.
   *
   * @param window how many of the latest messages its state keeps
   * @param parent the thread that created it, and the call for which it did
   */
  record Created(
      String threadId,
      String agent,
      String principal,
      Set<String> tags,
      Map<String, String> env,
      @Nullable Parent parent,
      int window,
      long at)
      implements ThreadEvent {
    /** How many threads are above it. */
    public int depth() {
      if (parent == null) {
        return 0;
      }
      return parent.depth == null ? 1 : parent.depth;
    }

    /** This thread, as the parent of one that it creates for a call. */
    public Parent parentFor(String relation, String call) {
      return new Parent(threadId, relation, call, parent == null ? null : depth() + 1);
    }
  }

  /**
   * The thread that a thread reports to.
   *
   * @param depth how many threads are above the one that reports; null for one
   */
  record Parent(String threadId, String relation, String call, @Nullable Integer depth) {
    /** How the key of a message begins that is a call of the parent. */
    static final String CALL = "call ";

    public Parent(String threadId, String relation, String call) {
      this(threadId, relation, call, null);
    }

    /** The key of the message with which the call is passed on. */
    public String messageKey() {
      return CALL + call;
    }
  }

  /**
   * Up to here it is what happened in another thread; from here on it is a thread of its own. What
   * was under way begins again as its own, and the children are those of the other thread.
   *
   * @param agent the agent that it was forked onto; null for the one that acted
   * @param window how many of the latest messages its state keeps
   * @param results what it takes from the other thread instead of performing it; null for nothing
   */
  record ForkedFrom(
      ThreadFork fork, @Nullable String agent, int window, @Nullable SourceResults results, long at)
      implements ThreadEvent {}

  /** The hooks for a new thread have been called. */
  record Greeted() implements ThreadEvent {}

  /** The agent's current definition has another window. */
  record Widened(int window) implements ThreadEvent {}

  /** It was deleted, with its data. */
  record Deleted(long at) implements ThreadEvent {}

  // --- messages from outside -------------------------------------------------------------------

  /**
   * A message was received and waits for the end of the current step.
   *
   * @param key makes it idempotent; null for none
   * @param notice the host says in it what became of a call or of a sub-agent; nobody posted it
   */
  record Received(@Nullable String key, Message message, long at, boolean notice)
      implements OfMessage {
    public Received(@Nullable String key, Message message, long at) {
      this(key, message, at, false);
    }
  }

  /** A received message was added to the conversation. */
  record Taken(Message message) implements OfMessage {}

  /** A message arrived for a thread that a client had stopped. */
  record Released() implements ThreadEvent {}

  // --- turns and steps -------------------------------------------------------------------------

  /** The thread began to act. */
  record Woke(String flowId, long at) implements ThreadEvent {}

  /**
   * Code takes the turn of a side.
   *
   * @param step how many steps there have been in the thread, this one included
   * @param messageId the message that it is to answer; empty if there is none
   */
  record TurnBegan(Side side, String messageId, long step, int attempt, long at)
      implements ThreadEvent {}

  /**
   * A model is asked for the next message.
   *
   * @param frame empty at top level, else the call that a sub-prompt answers
   * @param step how many steps there have been in the thread, this one included
   * @param messageId the message that it will become; pending until then
   */
  record StepBegan(
      String frame, Side side, String prompt, long step, int attempt, String messageId, long at)
      implements ThreadEvent {}

  /**
   * A model replied.
   *
   * @param calls the calls that it requests, in order
   * @param log the log of the step
   */
  record StepEnded(String frame, Message message, List<RequestedCall> calls, StepLog log)
      implements OfMessage {
    /** Whether it has neither a text nor calls. */
    public boolean saysNothing() {
      return calls.isEmpty() && ThreadFold.blank(message.content());
    }

    /** Whether the output limit of the model cut off one of the calls, by its place: the last. */
    public boolean cutOff(int place) {
      return log.cutOff() && place == calls.size() - 1;
    }

    /** The key of one of the calls, by its place. */
    public String key(int place) {
      return log.id() + "." + place;
    }

    /** The same, had the model been asked that; null if that is not known. */
    public StepEnded asking(@Nullable RequestDigest request) {
      StepLog other =
          new StepLog(
              log.id(),
              log.model(),
              log.finish(),
              log.usage(),
              log.failed(),
              log.began(),
              log.ended(),
              request,
              log.reasoning());
      return new StepEnded(frame, message, calls, other);
    }
  }

  /**
   * The log of a step.
   *
   * @param failed the attempts that failed
   * @param asked what the model was asked; null if that is not known
   * @param reasoning what its provider wants back with its calls; null for nothing
   */
  record StepLog(
      String id,
      String model,
      String finish,
      Usage usage,
      List<ModelAttempt> failed,
      long began,
      long ended,
      @Nullable RequestDigest asked,
      @Nullable Reasoning reasoning) {
    /** Whether the output limit of the model cut off its reply. */
    public boolean cutOff() {
      return ModelReply.cutOff(finish);
    }
  }

  /**
   * No model replied.
   *
   * @param message reports it in the conversation; null in a sub-prompt, whose call reports it
   */
  record StepFailed(
      String frame,
      String code,
      String reason,
      List<ModelAttempt> failed,
      @Nullable Message message,
      long at)
      implements ThreadEvent {
    @Override
    public List<Message> messages() {
      return message == null ? List.of() : List.of(message);
    }
  }

  /** A frame was opened: for a sub-prompt, or for calls that no model requested. */
  record FrameOpened(
      String frame,
      @Nullable String prompt,
      Side side,
      int depth,
      @Nullable String parentId,
      @Nullable String messageId,
      List<Message> said)
      implements ThreadEvent {
    @Override
    public List<Message> messages() {
      return said;
    }
  }

  /** All calls of a step have ended. */
  record FrameClosed(String frame) implements ThreadEvent {
    /** Whether it was a call that the conversation did not wait for. */
    public boolean late() {
      return frame.endsWith(StepFrame.LATE);
    }
  }

  /** The turn of a side has ended. */
  record SideTurned(Side from, Side to, boolean counts) implements ThreadEvent {}

  /** Another agent took the thread over. */
  record HandedOver(String agent, int window) implements ThreadEvent {}

  /**
   * The thread rests.
   *
   * @param by the side that caused it; null for neither
   * @param session whether the session has ended, which resets its counters
   */
  record Stopped(@Nullable Side by, String code, @Nullable String detail, boolean session, long at)
      implements ThreadEvent {}

  /** A summary of the older messages was started. */
  record Compacting(int attempt, long at) implements ThreadEvent {}

  /**
   * An attempt to summarize the older messages ended.
   *
   * @param upTo the last message that the summary covers; null if there is none
   * @param model the model that was asked for it; null if none replied
   */
  record Compacted(
      @Nullable String summary, @Nullable String upTo, @Nullable String model, Usage usage, long at)
      implements ThreadEvent {}

  // --- calls -----------------------------------------------------------------------------------

  /** An attempt of a call has started. */
  record CallBegan(String call, int attempt, long at) implements OfCall {}

  /** An attempt failed and will be followed by another. */
  record CallFailed(String call, int attempt, String reason, long retryAt) implements OfCall {}

  /**
   * The flow behind a call continues by itself: it is polled again then.
   *
   * @param waitsFor the moment, signal or person that it waits for; null while it works
   * @param begun whether the flow is known to have begun
   */
  record CallWaits(String call, long until, @Nullable String waitsFor, boolean begun)
      implements OfCall {}

  /**
   * A person is asked about a call.
   *
   * @param approval whether the question is to approve the call; otherwise the flow behind it asks
   */
  record CallAsked(String call, boolean approval, JsonNode question, long at) implements OfCall {}

  /**
   * A person answered.
   *
   * @param approved whether the call is approved; null if that was not the question
   * @param by the principal who answered; null if unknown
   */
  record CallAnswered(
      String call,
      String answerId,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason,
      @Nullable String by,
      long at)
      implements OfCall {}

  /** A call waits for the result of a child. */
  record CallDelegated(String call, String threadId) implements OfCall {}

  /** A call returned; the hooks for its result have not run yet. */
  record CallReturned(String call, ToolResult result) implements OfCall {}

  /** A call has ended; the message contains its result. */
  record CallEnded(String call, Message message, @Nullable String code, long at)
      implements OfCall, OfMessage {
    /** Whether its step had ended before. */
    public boolean late() {
      return message.id().endsWith(StepFrame.LATE);
    }
  }

  /**
   * The conversation continues while a person decides about a call.
   *
   * @param agent the agent that makes the call
   * @param message its preliminary result
   */
  record CallDetached(String call, String agent, Message message, long at)
      implements OfCall, OfMessage {}

  /** A hook removed a call. */
  record CallRemoved(String call, long at) implements OfCall {}

  /**
   * A call was ended while a flow or a child works for it, which must be withdrawn.
   *
   * @param flow the flow, which may have a run for it; null if a child works for it
   * @param unborn the agent of a child that may have been created for the call but is not known
   *     yet; null if there is none
   */
  record CallAbandoned(
      String call, @Nullable String flow, @Nullable String child, @Nullable String unborn)
      implements OfCall {}

  /** The work for a call that was ended is withdrawn. */
  record CallWithdrawn(String call) implements OfCall {}

  // --- scheduled effects -----------------------------------------------------------------------

  record EffectBegan(String id, int attempt, long at) implements ThreadEvent {}

  record EffectDelayed(String id, int attempt, String reason, long due) implements ThreadEvent {}

  /**
   * An effect has ended.
   *
   * @param error the error; null for none
   */
  record EffectEnded(String id, @Nullable String error, long at) implements ThreadEvent {}

  // --- parents and children --------------------------------------------------------------------

  /**
   * A child reported its result.
   *
   * @param working whether it went on to work, and will report again
   * @param call see {@link ReportPending}
   */
  record ChildReported(
      String threadId,
      long report,
      boolean failed,
      String text,
      boolean working,
      @Nullable String call,
      long at)
      implements ThreadEvent {}

  /** A child reported what it and its own children have spent in all. */
  record ChildSpent(String threadId, Usage usage, long at) implements ThreadEvent {}

  /** An unfinished child reported its status. */
  record ChildStatusChanged(String threadId, long report, ChildThread.Status status, long at)
      implements ThreadEvent {}

  /**
   * A report to the parent is pending.
   *
   * @param status the status of an unfinished thread; null if it reports a result
   * @param call the latest call of the parent that a result is of, empty if it is of none; null if
   *     that is not known
   */
  record ReportPending(
      long report,
      boolean failed,
      String text,
      ChildThread.@Nullable Status status,
      @Nullable String call)
      implements ThreadEvent {}

  /** A child was deleted. */
  record ChildDeleted(String threadId, long at) implements ThreadEvent {}

  /** The parent acknowledged a report. */
  record Reported(long report) implements ThreadEvent {}

  /**
   * A delivery failed.
   *
   * @param what the effect that delivers
   */
  record DeliveryFailed(String what, int attempt, String reason, long due) implements ThreadEvent {}

  /** A delivery is retried. */
  record DeliveryBegan(String what, int attempt) implements ThreadEvent {}

  // --- changes by author code -----------------------------------------------------------------

  /**
   * A message was added to the conversation.
   *
   * @param before the message that it precedes; null for the end
   */
  record Said(String frame, Message message, @Nullable String before)
      implements Change, OfMessage {}

  record Updated(String messageId, MessageUpdate update) implements Change {}

  /**
   * A call was queued that no model requested.
   *
   * @param frame the step whose calls it follows; null if it waits for its own step
   * @param call its id is unique in the thread
   */
  record Queued(@Nullable String frame, RequestedCall call) implements Change {}

  record Forced(Side side) implements Change {}

  /**
   * The thread is to stop at the end of its step.
   *
   * @param code one of {@link StopCode}
   */
  record StopWanted(@Nullable Side by, String code, @Nullable String reason) implements Change {}

  record ContextSet(String key, @Nullable JsonNode value) implements Change {}

  record Stored(String key, @Nullable JsonNode value) implements Change {}

  record EnvSet(String key, @Nullable String value) implements Change {}

  record Tagged(Set<String> tags) implements Change {}

  record StatusSet(String text) implements Change {}

  @SuppressWarnings("ArrayRecordComponent") // copies would be large
  record FileWritten(String path, String mimeType, byte[] data, long at) implements Change {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof FileWritten written
          && at == written.at
          && path.equals(written.path)
          && mimeType.equals(written.mimeType)
          && Arrays.equals(data, written.data);
    }

    @Override
    public int hashCode() {
      return path.hashCode();
    }
  }

  record FileRemoved(String path) implements Change {}

  record FileMoved(String path, String to) implements Change {}

  /**
   * Work was scheduled.
   *
   * @param agent the agent that scheduled it, even if another agent acts by then
   */
  record Scheduled(String id, String agent, String effect, JsonNode arguments, long due)
      implements Change {}

  record Unscheduled(String id) implements Change {}

  record Emitted(String type, @Nullable JsonNode data, long at) implements Change {}

  record ChildCreated(ChildThread child) implements Change {}

  /** A side gave a child more to do. */
  record ChildResumed(String threadId, Side side) implements Change {}

  record HookFailed(String hook, String point, String reason) implements Change {}

  /** What a model said, where hooks, or the tool that ends its turn, made another text of it. */
  record ModelReplied(@Nullable String text) implements Change {}

  /**
   * What the work of a call returned, where hooks made something else of it or changed the thread,
   * or where it is an error: without it, a call that failed threw.
   *
   * @param changes how many of the changes just before are those of the work, not of hooks
   * @param result null if it is too large to be kept twice; without the data of its files if the
   *     entry has that anyway
   */
  record ToolReturned(String call, int changes, @Nullable ToolResult result) implements Change {}
}

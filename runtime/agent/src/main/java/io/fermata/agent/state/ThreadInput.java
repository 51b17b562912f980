package io.fermata.agent.state;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.Usage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** An input of a thread. Times are milliseconds of the epoch. */
public sealed interface ThreadInput {
  long at();

  /**
   * Creates a thread. An existing one does not change; a client learns that it began otherwise.
   *
   * @param messages the initial messages
   */
  record Create(
      String threadId,
      String agent,
      String principal,
      Set<String> tags,
      Map<String, String> env,
      ThreadEvent.@Nullable Parent parent,
      List<Message> messages,
      long at)
      implements ThreadInput {
    private static final Pattern ID = Pattern.compile("m-i\\d+");

    /** The initial messages, with ids that no other messages have. */
    public List<Message> placed() {
      List<Message> placed = new ArrayList<>();
      for (Message message : messages) {
        placed.add(message.placed("m-i" + (placed.size() + 1), at * 1000, 0, null));
      }
      return placed;
    }

    static boolean isInitial(Message message) {
      return ID.matcher(message.id()).matches();
    }
  }

  /**
   * Makes a thread of its own of one whose state is that of another thread at an entry.
   *
   * @param agent the agent that acts from here on; null for the one that acted
   * @param env variables that are changed; an empty one is removed
   * @param message a message that is posted at once; null for none
   * @param results what it takes from the other thread instead of performing it; null for nothing
   */
  record Fork(
      ThreadFork fork,
      @Nullable String agent,
      Map<String, String> env,
      @Nullable Message message,
      @Nullable SourceResults results,
      long at)
      implements ThreadInput {}

  /**
   * A message: of a user to side A, or of an assistant to side B.
   *
   * @param key makes the message idempotent; null for none
   */
  record Post(@Nullable String key, Message message, List<Attachment> attachments, long at)
      implements ThreadInput {}

  /** Stops the thread at once and cancels running effects. */
  record Stop(long at) implements ThreadInput {}

  /** Resumes the thread, with a side or with the one whose turn it is. */
  record Proceed(@Nullable Side side, long at) implements ThreadInput {}

  /**
   * A person answers a question about a call.
   *
   * @param question the id of the question that is answered; null for whatever the call asks now
   * @param answerId makes the answer idempotent; it names no other one
   */
  record Answer(
      String call,
      @Nullable String question,
      String answerId,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason,
      @Nullable String by,
      long at)
      implements ThreadInput {}

  /** Null leaves the tags; an empty variable is removed. */
  record Change(@Nullable Set<String> tags, Map<String, String> env, long at)
      implements ThreadInput {}

  record Delete(long at) implements ThreadInput {}

  /** The flow behind a call has changed: a call that waits for it looks at once. */
  record FlowChanged(String call, long at) implements ThreadInput {}

  /** What a thread learns of a child. */
  sealed interface OfChild {
    String child();
  }

  /**
   * A child reports its result.
   *
   * @param working whether it continues to work, and will report again
   * @param call see {@link ThreadEvent.ReportPending}
   */
  record Report(
      String child,
      long report,
      boolean failed,
      String text,
      boolean working,
      @Nullable String call,
      Usage spent,
      long at)
      implements ThreadInput, OfChild {
    /** Whether it is the result of a call that waits; else the child has yet to take that up. */
    public boolean answers(CallState waiting) {
      return call == null || call.equals(waiting.key());
    }
  }

  /** A child reports what it has spent in all. */
  record ChildSpent(String child, Usage total, long at) implements ThreadInput, OfChild {}

  /** An unfinished child reports its status. */
  record ChildStatusChanged(String child, long report, ChildThread.Status status, long at)
      implements ThreadInput, OfChild {}

  /** A child was deleted and will not report. */
  record ChildDeleted(String child, Usage spent, long at) implements ThreadInput, OfChild {}

  /** An effect has ended. */
  record EffectEnded(ThreadEffect effect, Result result, long at) implements ThreadInput {}

  /** A timer is due. */
  record EffectDue(ThreadEffect effect, long at) implements ThreadInput {}

  /**
   * The thread was recovered from its journal: running attempts are lost.
   *
   * @param running the keys of effects that still run
   */
  record Recovered(Set<String> running, long at) implements ThreadInput {
    /** After a crash of the process, with no effect running. */
    public Recovered(long at) {
      this(Set.of(), at);
    }
  }

  /**
   * The result of an effect, with the changes of author code before and after the message of the
   * effect.
   */
  sealed interface Result {}

  record Done(List<ThreadEvent.Change> changes) implements Result {}

  /** A message from outside, after its hooks. */
  record Admitted(Message message, List<ThreadEvent.Change> before, List<ThreadEvent.Change> after)
      implements Result {}

  /** The reply of a model. */
  record Replied(
      Message message,
      List<RequestedCall> calls,
      ThreadEvent.StepLog log,
      List<ThreadEvent.Change> before,
      List<ThreadEvent.Change> after)
      implements Result {}

  /** A hook blocked the call of the model. */
  record Blocked(Message message, List<ThreadEvent.Change> before, List<ThreadEvent.Change> after)
      implements Result {}

  /** The budget of an ancestor is spent, so no model was called. */
  record Overspent(String reason) implements Result {}

  /** No model replied. */
  record Unanswered(
      String code, String reason, List<ModelAttempt> failed, @Nullable Throwable thrown)
      implements Result {}

  /**
   * A call has ended.
   *
   * @param message null if a hook removed the call
   */
  record Called(
      @Nullable Message message,
      @Nullable String code,
      List<ThreadEvent.Change> before,
      List<ThreadEvent.Change> after)
      implements Result {}

  /** The flow behind a call asks a person. */
  record Asks(JsonNode question, List<ThreadEvent.Change> changes) implements Result {}

  /**
   * The flow behind a call continues by itself: poll again then.
   *
   * @param waitsFor the moment, signal or person that it waits for; null while it works
   * @param begun whether the flow is known to have begun
   */
  record Later(long due, @Nullable String waitsFor, boolean begun, List<ThreadEvent.Change> changes)
      implements Result {}

  /**
   * A child works for the call.
   *
   * @param threadId null if it is a sub-prompt
   */
  record Delegated(@Nullable String threadId, List<ThreadEvent.Change> changes) implements Result {}

  /**
   * A model was asked to summarize the older messages.
   *
   * @param summary null if it said nothing
   * @param upTo the last message that the summary covers; null without one
   */
  record Summed(@Nullable String summary, @Nullable String upTo, String model, Usage usage)
      implements Result {}

  /**
   * It failed.
   *
   * @param reason the message for models and clients
   * @param detail the details for the operator
   */
  record Failed(String code, String reason, @Nullable String detail, @Nullable Throwable thrown)
      implements Result {
    public Failed(String code, String reason, @Nullable String detail) {
      this(code, reason, detail, null);
    }
  }
}

package io.fermata.agent.state;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.Usage;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What comes into a thread from outside. Times are milliseconds of the epoch. */
public sealed interface ThreadInput {
  long at();

  /**
   * Begins a thread. One that exists stays as it is.
   *
   * @param messages what it begins with
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
      implements ThreadInput {}

  /**
   * A message: of a user to side A, or of an assistant to side B.
   *
   * @param key the sender's name for the message, so that it counts once; null if it has none
   */
  record Post(@Nullable String key, Message message, List<Attachment> attachments, long at)
      implements ThreadInput {}

  /** Stops the thread at once and cancels what is in progress. */
  record Stop(long at) implements ThreadInput {}

  /** Resumes the thread, with a side or with the one whose turn it is. */
  record Proceed(@Nullable Side side, long at) implements ThreadInput {}

  /**
   * A person answers what was asked about a call.
   *
   * @param answerId the same for every repetition of the answer
   */
  record Answer(
      String call,
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

  /** A child reports its result. */
  record Report(String child, long report, boolean failed, String text, long at)
      implements ThreadInput {}

  /** An unfinished child reports its status. */
  record ChildStands(String child, long report, ChildThread.Status status, long at)
      implements ThreadInput {}

  /** A child was deleted, and reports no more. */
  record ChildGone(String child, long at) implements ThreadInput {}

  /** An effect has ended. */
  record EffectEnded(ThreadEffect effect, Result result, long at) implements ThreadInput {}

  /** A timer is due. */
  record EffectDue(ThreadEffect effect, long at) implements ThreadInput {}

  /**
   * The thread was read back from its journal: attempts that were running are lost.
   *
   * @param running the keys of the effects that are not
   */
  record Recovered(Set<String> running, long at) implements ThreadInput {
    /** After the process was lost, and every attempt with it. */
    public Recovered(long at) {
      this(Set.of(), at);
    }
  }

  /**
   * How an effect ended. Changes are those that author code made: before the message that the
   * effect is about, and after it.
   */
  sealed interface Result {}

  record Done(List<ThreadEvent.Change> changes) implements Result {}

  /** A message from outside, as the hooks want it. */
  record Admitted(Message message, List<ThreadEvent.Change> before, List<ThreadEvent.Change> after)
      implements Result {}

  /** What a model said. */
  record Replied(
      Message message,
      List<RequestedCall> calls,
      ThreadEvent.StepLog log,
      List<ThreadEvent.Change> before,
      List<ThreadEvent.Change> after)
      implements Result {}

  /** A hook did not let the model be called. */
  record Blocked(Message message, List<ThreadEvent.Change> before, List<ThreadEvent.Change> after)
      implements Result {}

  /** No model answered. */
  record Unanswered(String code, String reason, List<ModelAttempt> failed) implements Result {}

  /**
   * A call is over.
   *
   * @param message null if a hook struck the call out
   */
  record Called(
      @Nullable Message message,
      @Nullable String code,
      List<ThreadEvent.Change> before,
      List<ThreadEvent.Change> after)
      implements Result {}

  /** The flow behind a call asks a person. */
  record Asks(JsonNode question, List<ThreadEvent.Change> changes) implements Result {}

  /** The flow behind a call continues by itself: poll again then. */
  record Later(long due, List<ThreadEvent.Change> changes) implements Result {}

  /**
   * A child works for the call.
   *
   * @param threadId null if it is a sub-prompt
   */
  record Delegated(@Nullable String threadId, List<ThreadEvent.Change> changes) implements Result {}

  /** The older messages in short. */
  record Summed(String summary, String upTo, Usage usage) implements Result {}

  /**
   * It failed.
   *
   * @param reason what models and clients may read
   * @param detail what the operator may read
   */
  record Failed(String code, String reason, @Nullable String detail) implements Result {}
}

package io.fermata.session.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.session.key.ThreadKey;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a host's agents, as those outside see and drive them.
 *
 * <p>A thread belongs to the principal that created it; to everybody else it does not exist. What
 * is acknowledged is in the journal. A stage that cannot do what it was asked fails with a {@link
 * ThreadException}, whose code tells why.
 */
public interface Threads {

  /**
   * A thread to be created.
   *
   * @param key names the thread, so that a repeated request creates it once; null for a new one
   * @param messages what the conversation begins with; nobody is called on to answer them
   */
  record NewThread(
      String principal,
      String agent,
      @Nullable String key,
      Set<String> tags,
      Map<String, String> env,
      List<Message> messages) {}

  /**
   * A message to a thread: from a user to side A, from an assistant to side B.
   *
   * @param key names the message, so that a repeated request counts once; null if it has no name
   */
  record NewMessage(Message message, List<Attachment> attachments, @Nullable String key) {}

  /**
   * An answer to what a thread asks a person about a call.
   *
   * @param call the call's key
   * @param answerId the same for every repetition of the answer
   * @param approved whether the call may be made, where that is the question
   * @param answers the answers to a flow's questions, by field
   */
  record Answer(
      String call,
      String answerId,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason) {}

  /** How a thread stands. */
  enum Standing {
    /** A model, a tool or code is at work, or is about to be. */
    WORKING,
    /** A person is asked about a call, here or in a child that is waited for. */
    ASKING,
    /** It rests until somebody speaks. */
    RESTING
  }

  /**
   * What a person is asked about a call.
   *
   * @param approval whether the call may be made; otherwise the flow behind it asks
   * @param question for an approval {@code question}, {@code tool} and {@code arguments}; else what
   *     the flow's client would see
   */
  record Question(String call, String tool, boolean approval, JsonNode question) {}

  /**
   * A thread.
   *
   * @param agent the agent that acts now
   * @param origin the agent that it began with
   * @param side whose turn it is, or was last
   * @param code why it rests, a {@code StopCode}; null if it has not acted yet or is at work
   * @param status what the agent says about how things stand
   * @param waiting messages that wait for the end of the step under way
   * @param messages how many messages there are
   * @param offset the number of the last record of its journal
   */
  record View(
      String threadId,
      String agent,
      String origin,
      String principal,
      Set<String> tags,
      long createdAt,
      @Nullable String parent,
      Standing standing,
      Side side,
      @Nullable Side stoppedBy,
      @Nullable String code,
      @Nullable String detail,
      @Nullable String status,
      List<Question> questions,
      int waiting,
      long messages,
      Usage usage,
      List<ChildThread> children,
      long offset) {}

  /**
   * A message was taken.
   *
   * @param repeated it had been taken before
   */
  record Posted(String threadId, String messageId, boolean repeated, long offset) {}

  /**
   * A page of messages, the latest first.
   *
   * @param before names the next page; null if there is none
   */
  record Messages(List<Message> messages, @Nullable String before) {}

  /**
   * Which threads to list.
   *
   * @param tags those that a thread has to have, all of them
   * @param text to be found in the id, the agent or the tags; null for any
   * @param cursor names the page; null for the first
   */
  record Query(
      String principal,
      @Nullable String agent,
      Set<String> tags,
      @Nullable String text,
      boolean byActivity,
      int limit,
      @Nullable String cursor) {}

  /** A thread in a list, as it was within the last second or so. */
  record Listed(
      String threadId,
      String agent,
      Set<String> tags,
      long createdAt,
      long activeAt,
      String standing) {

    /** The agent that it began with. */
    public String origin() {
      ThreadKey key = ThreadKey.of(threadId);
      return key == null ? agent : key.agent();
    }
  }

  record Listing(List<Listed> threads, @Nullable String cursor) {}

  CompletionStage<View> create(NewThread thread);

  CompletionStage<View> get(String principal, String threadId);

  CompletionStage<Posted> post(String principal, String threadId, NewMessage message);

  /**
   * Completes when the thread rests, or asks, after what it has been told so far; at the latest
   * when the patience is over, with how it stands then.
   */
  CompletionStage<View> settled(String principal, String threadId, Duration patience);

  /** Lets the thread rest at once. What was under way is given up. */
  CompletionStage<View> stop(String principal, String threadId);

  /** Lets a thread that rests go on, with a side, or with the one whose turn it is. */
  CompletionStage<View> proceed(String principal, String threadId, @Nullable Side side);

  CompletionStage<View> answer(String principal, String threadId, Answer answer);

  /** Changes tags and environment; what is null stays. */
  CompletionStage<View> change(
      String principal, String threadId, @Nullable Set<String> tags, Map<String, String> env);

  /** Deletes the thread, what it keeps, and the threads that it created. */
  CompletionStage<Void> delete(String principal, String threadId);

  /**
   * The messages of the thread, page by page.
   *
   * @param before names the page; null for the latest
   * @param depth the deepest messages to be listed; 0 for the conversation alone
   */
  CompletionStage<Messages> messages(
      String principal,
      String threadId,
      @Nullable String before,
      int limit,
      int depth,
      boolean silent);

  CompletionStage<Listing> list(Query query);

  /** The bytes of a file of the thread, and its type. */
  CompletionStage<Attachment> file(String principal, String threadId, String path);

  /** Hears what happens in a thread. Called by one thread at a time. */
  interface Listener {
    /**
     * Something that the journal has.
     *
     * @param offset the number of its record, and
     * @param index its place in it; both together name where to resume
     */
    void happened(long offset, int index, long at, ThreadEvent event);

    /** A piece of what is being said; it has no offset, and is not told again. */
    void heard(Outside.Delta tiding);

    /** The feed has ended: the thread was deleted, the host closes, or the store failed. */
    void ended(@Nullable Throwable why);
  }

  /** A subscription. */
  interface Feed extends AutoCloseable {
    /** Tells of so many more events; what is not asked for waits in the journal. */
    void request(int events);

    /** Completes when all up to a record has been told, or when nothing more will be. */
    CompletionStage<@Nullable Void> toldUpTo(long offset);

    @Override
    void close();
  }

  /**
   * Tells all that happened after a place in the journal, and then what happens, without a gap and
   * without repeating anything. The thread is not woken for it.
   *
   * @param offset the record, and
   * @param index the event in it after which to begin, -1 for its first; 0 and -1 for the beginning
   */
  CompletionStage<Feed> follow(
      String principal, String threadId, long offset, int index, Listener listener);
}

package io.fermata.session.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.session.call.UnreachableAgentException;
import io.fermata.session.key.ThreadKey;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a host's agents: the API for applications and transports.
 *
 * <p>A thread belongs to the principal that created it; for others it does not exist. Acknowledged
 * changes are in the journal. Errors are reported as a {@link ThreadException} with a stable code.
 */
public interface Threads {

  /**
   * A thread to be created.
   *
   * @param key makes the request idempotent; null for none
   * @param messages the initial messages; they start no turn
   */
  record NewThread(
      String principal,
      String agent,
      @Nullable String key,
      Set<String> tags,
      Map<String, String> env,
      List<Message> messages) {
    public NewThread {
      Objects.requireNonNull(principal, "principal");
      Objects.requireNonNull(agent, "agent");
      tags = Set.copyOf(Objects.requireNonNull(tags, "tags"));
      env = Bounds.env(env);
      messages = List.copyOf(Objects.requireNonNull(messages, "messages"));
    }
  }

  /**
   * A message to a thread: from a user to side A, from an assistant to side B.
   *
   * @param key makes the request idempotent; null for none
   */
  record NewMessage(Message message, List<Attachment> attachments, @Nullable String key) {
    public NewMessage {
      Objects.requireNonNull(message, "message");
      attachments = List.copyOf(Objects.requireNonNull(attachments, "attachments"));
    }
  }

  /**
   * How a thread is forked, after which entry, and what is otherwise than in its source.
   *
   * <pre>{@code
   * NewFork.sandbox().before("m-u2").message(Message.user("Please refund B-1002")).agent("desk-v2")
   * }</pre>
   *
   * @param entry the number of the entry after which the fork continues; null for the latest
   * @param before the message before which it does, instead of an entry; null for none
   * @param agent the agent that acts from there on; null for the one that acted
   * @param env variables that are changed; an empty one is removed
   * @param message a message that is posted to the fork; null for none
   * @param by the principal who forks, for the journal; null for the owner
   * @param mayReach whether who forks may use an agent, which matters where another one acted in
   *     the source than acts in it now; it must not block
   */
  record NewFork(
      ForkOrigin.Mode mode,
      @Nullable Long entry,
      @Nullable String before,
      @Nullable String agent,
      Map<String, String> env,
      @Nullable Message message,
      @Nullable String by,
      Predicate<String> mayReach) {
    public NewFork {
      Objects.requireNonNull(mode, "mode");
      Objects.requireNonNull(mayReach, "mayReach");
      env = Bounds.env(env);
    }

    /** A fork by somebody who may use all agents. */
    public NewFork(
        ForkOrigin.Mode mode,
        @Nullable Long entry,
        @Nullable String before,
        @Nullable String agent,
        Map<String, String> env,
        @Nullable Message message,
        @Nullable String by) {
      this(mode, entry, before, agent, env, message, by, any -> true);
    }

    /** From there on everything happens, as in any thread. */
    public static NewFork live() {
      return of(ForkOrigin.Mode.LIVE);
    }

    /**
     * What models replied and calls returned in the source after the entry is taken from its
     * journal, for as long as the models are asked the same; from there on the fork is live.
     */
    public static NewFork replayEffects() {
      return of(ForkOrigin.Mode.REPLAY_EFFECTS);
    }

    /** Models are asked, and nothing else is performed: the fork rests at the first call. */
    public static NewFork sandbox() {
      return of(ForkOrigin.Mode.SANDBOX);
    }

    private static NewFork of(ForkOrigin.Mode mode) {
      return new NewFork(mode, null, null, null, Map.of(), null, null);
    }

    public NewFork at(long number) {
      return new NewFork(mode, number, null, agent, env, message, by, mayReach);
    }

    public NewFork before(String messageId) {
      return new NewFork(mode, null, messageId, agent, env, message, by, mayReach);
    }

    public NewFork agent(String name) {
      return new NewFork(mode, entry, before, name, env, message, by, mayReach);
    }

    public NewFork env(String property, String value) {
      Map<String, String> all = new LinkedHashMap<>(env);
      all.put(property, value);
      return new NewFork(mode, entry, before, agent, all, message, by, mayReach);
    }

    public NewFork message(Message posted) {
      return new NewFork(mode, entry, before, agent, env, posted, by, mayReach);
    }

    public NewFork by(String principal) {
      return new NewFork(mode, entry, before, agent, env, message, principal, mayReach);
    }

    /**
     * The same fork by somebody who may use these agents only. If others would act in it, or made a
     * call that continues in it, it fails with an {@link UnreachableAgentException}.
     */
    public NewFork reaching(Predicate<String> agents) {
      return new NewFork(mode, entry, before, agent, env, message, by, agents);
    }
  }

  /**
   * An answer to a thread's question about a call.
   *
   * @param call the call's key
   * @param question the id of the {@linkplain Question question} that a person answers: if another
   *     one is open meanwhile, the answer is refused; null for whatever the call asks when it
   *     arrives
   * @param answerId the same for every repetition of the answer, and for no other one
   * @param approved whether the call is approved, if that is the question
   * @param answers the answers to a flow's questions, by field
   */
  record Answer(
      String call,
      @Nullable String question,
      String answerId,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason) {
    public Answer {
      Objects.requireNonNull(call, "call");
      Objects.requireNonNull(answerId, "answerId");
      answers = Json.copy(answers);
    }

    /** An answer to whatever the call asks when it arrives. */
    public Answer(
        String call,
        String answerId,
        @Nullable Boolean approved,
        @Nullable JsonNode answers,
        @Nullable String reason) {
      this(call, null, answerId, approved, answers, reason);
    }

    /** A copy. */
    @Override
    public @Nullable JsonNode answers() {
      return Json.copy(answers);
    }
  }

  /** The status of a thread. */
  enum Status {
    /** A model, a tool or a handler runs or is about to. */
    WORKING,
    /** A person is asked about a call, here or in a child that it waits for. */
    ASKING,
    /** It waits for the next message, or for nothing but what flows of its calls wait for. */
    RESTING
  }

  /**
   * A question to a person about a call.
   *
   * @param id of this question; the next one of the same call has another id
   * @param approval whether the question is to approve the call; otherwise the flow behind it asks
   * @param question for an approval {@code question}, {@code tool} and {@code arguments}; otherwise
   *     what a client of the flow would get
   */
  record Question(String id, String call, String tool, boolean approval, JsonNode question) {}

  /**
   * A call whose flow waits for a moment, a signal or another person, or whose child has one that
   * does.
   *
   * @param waitsFor in words, for instance {@code for signal paid until 2026-05-01T01:00:00Z}, or
   *     {@code in the thread} and its id
   */
  record Wait(String call, String tool, String waitsFor) {}

  /**
   * What a thread does, or why it rests.
   *
   * @param side whose turn it is, or was last
   * @param code why it rests, a {@code StopCode}; null if it has not acted yet, works, or has a
   *     turn that waits for a flow
   * @param statusText what the agent says about its progress
   */
  record Progress(
      Status status,
      Side side,
      @Nullable Side stoppedBy,
      @Nullable String code,
      @Nullable String detail,
      @Nullable String statusText) {}

  /**
   * A thread.
   *
   * @param held what waits for a release that has a handler, a tool or an agent which the host of
   *     the thread lacks
   * @param inbox the ids of the messages that wait for the end of the current step
   * @param messages the number of messages
   * @param offset the number of its last journal entry
   */
  record View(
      ThreadMetadata about,
      Progress progress,
      List<Question> questions,
      List<Wait> waits,
      List<HeldWork> held,
      List<String> inbox,
      long messages,
      Usage usage,
      List<ChildThread> children,
      long offset) {

    public String threadId() {
      return about.threadId();
    }

    /** The agent that acts now. */
    public String agent() {
      return about.agent();
    }

    /** The agent that it began with. */
    public String origin() {
      return about.origin();
    }

    /** Where it was forked from; null if it was not. */
    public @Nullable ThreadFork fork() {
      return about.fork();
    }

    public Status status() {
      return progress.status();
    }

    /** Why it rests, a {@code StopCode}; null if it has not acted yet or works. */
    public @Nullable String code() {
      return progress.code();
    }
  }

  /**
   * A message was accepted.
   *
   * @param repeated whether it had been accepted before
   */
  record Posted(String threadId, String messageId, boolean repeated, long offset) {}

  /**
   * Which messages of a thread are read, the latest first.
   *
   * <pre>{@code
   * MessageQuery.latest(50).before(page.before())
   * }</pre>
   *
   * @param limit the maximum number; a page of long messages has fewer, but at least one
   * @param depth the maximum depth of messages; 0 for the conversation only
   * @param before the cursor of the page; null for the latest
   * @param shown which of them
   * @param since the message after which they begin, if all of them fit
   * @param upTo the last journal entry that they reflect
   */
  record MessageQuery(
      int limit,
      int depth,
      @Nullable String before,
      Predicate<Message> shown,
      Predicate<Message> since,
      long upTo) {
    /** The latest messages of the conversation, without silent ones. */
    public static MessageQuery latest(int limit) {
      return new MessageQuery(
          limit, 0, null, message -> !message.silent(), message -> false, Long.MAX_VALUE);
    }

    public MessageQuery before(@Nullable String cursor) {
      return new MessageQuery(limit, depth, cursor, shown, since, upTo);
    }

    /** Also messages inside sub-prompts, to a depth. */
    public MessageQuery depth(int most) {
      return new MessageQuery(limit, most, before, shown, since, upTo);
    }

    /** Silent messages as well. */
    public MessageQuery withSilent() {
      return showing(message -> true);
    }

    /** These messages only, silent ones as well. */
    public MessageQuery showing(Predicate<Message> which) {
      return new MessageQuery(limit, depth, before, which, since, upTo);
    }

    /** No message before this one, and not this one. */
    public MessageQuery since(Predicate<Message> known) {
      return new MessageQuery(limit, depth, before, shown, known, upTo);
    }

    /** The messages as they were when a view was read, whatever happens meanwhile. */
    public MessageQuery asOf(View view) {
      return new MessageQuery(limit, depth, before, shown, since, view.offset());
    }
  }

  /**
   * A page of messages, latest first.
   *
   * @param before the cursor of the next page; null if there is none
   */
  record Messages(List<Message> messages, @Nullable String before) {}

  /**
   * A query of threads.
   *
   * @param tags tags that a thread must all have
   * @param status what a thread does or waits for; null for any
   * @param text a text in the id, the agent or the tags; null for any
   * @param cursor the cursor of the page; null for the first
   */
  record Query(
      String principal,
      @Nullable String agent,
      Set<String> tags,
      @Nullable Status status,
      @Nullable String text,
      boolean byActivity,
      int limit,
      @Nullable String cursor) {
    public Query {
      Objects.requireNonNull(principal, "principal");
      tags = Set.copyOf(Objects.requireNonNull(tags, "tags"));
    }
  }

  /** A thread in a list, at most about a second old. */
  record Listed(
      String threadId,
      String agent,
      Set<String> tags,
      long createdAt,
      long activeAt,
      String status) {

    /** The agent that it began with. */
    public String origin() {
      ThreadKey key = ThreadKey.of(threadId);
      return key == null ? agent : key.agent();
    }
  }

  record Listing(List<Listed> threads, @Nullable String cursor) {}

  /**
   * The variables of the environment that are part of the instructions of an agent, or of those it
   * may hand over to: who sets them instructs the agent, as a message of the role system does. None
   * of an agent that the host does not have, as that of a thread of another release may be.
   */
  Set<String> instructionEnv(String agent);

  /** The agents of which clients may begin threads: those that do not work for others only. */
  Set<String> agents();

  CompletionStage<View> create(NewThread thread);

  /**
   * Starts a thread of its own that continues another one from one of its entries. The other thread
   * is not affected.
   */
  CompletionStage<View> fork(String principal, String threadId, NewFork how);

  /**
   * As {@link #fork(String, String, NewFork)}, of a thread of another store, of which this host has
   * no more than its journal, such as an export. Nothing is imported. Fails with a {@link
   * ThreadException} as well, {@code key_missing}, if parts of the journal are {@linkplain
   * ThreadJournal#redacted redacted}.
   *
   * @param principal the owner of the fork, who need not be that of its source
   */
  CompletionStage<View> fork(String principal, ThreadJournal journal, NewFork how);

  CompletionStage<View> get(String principal, String threadId);

  CompletionStage<Posted> post(String principal, String threadId, NewMessage message);

  /**
   * Completes when the thread rests or asks, after everything posted so far; at the latest after
   * the timeout, with its current state.
   */
  CompletionStage<View> settled(String principal, String threadId, Duration timeout);

  /** Stops the current turn; running effects are cancelled. */
  default CompletionStage<View> stop(String principal, String threadId) {
    return stop(principal, threadId, null);
  }

  /**
   * As {@link #stop(String, String)}.
   *
   * @param key makes the request idempotent: a repeated one does not stop the next turn; null for
   *     none
   */
  CompletionStage<View> stop(String principal, String threadId, @Nullable String key);

  /** Continues a resting thread, with a side, or with the one whose turn it is. */
  CompletionStage<View> proceed(String principal, String threadId, @Nullable Side side);

  CompletionStage<View> answer(String principal, String threadId, Answer answer);

  /** Changes tags and environment; null tags stay unchanged. */
  CompletionStage<View> change(
      String principal, String threadId, @Nullable Set<String> tags, Map<String, String> env);

  /** Deletes the thread, its data, and the threads that it created. */
  CompletionStage<Void> delete(String principal, String threadId);

  /** The messages of the thread, page by page. */
  CompletionStage<Messages> messages(String principal, String threadId, MessageQuery query);

  CompletionStage<Listing> list(Query query);

  /** The bytes of a file of the thread, and its type. */
  CompletionStage<Attachment> file(String principal, String threadId, String path);

  /** A listener to the events of a thread. It is called by one Java thread at a time. */
  interface Listener {
    /**
     * A journaled event.
     *
     * @param offset the number of its journal entry, and
     * @param index its index in the entry; both together are the position to resume from
     */
    void happened(long offset, int index, long at, ThreadEvent event);

    /**
     * Whether it takes more after an event. If not, as it holds too much of what it got, the events
     * that it has requested wait until it requests some again.
     */
    default boolean takesMore() {
      return true;
    }

    /** A piece of streamed text; it has no offset and is not repeated. */
    void streamed(MessageDelta delta);

    /** The feed has ended: the thread was deleted, the host closes, or the store failed. */
    void ended(@Nullable Throwable why);
  }

  /** A subscription. */
  interface Feed extends AutoCloseable {
    /** Requests more events; the others wait in the journal. */
    void request(int events);

    /** Completes when all events up to an entry are delivered, or the feed has ended. */
    CompletionStage<@Nullable Void> deliveredUpTo(long offset);

    @Override
    void close();
  }

  /**
   * Delivers the events after a position in the journal, and then new ones, without gap or
   * repetition. The thread is not woken.
   *
   * @param offset the journal entry, and
   * @param index the event in it after which to start, -1 for its first; 0 and -1 for the start of
   *     the journal
   */
  CompletionStage<Feed> follow(
      String principal, String threadId, long offset, int index, Listener listener);
}

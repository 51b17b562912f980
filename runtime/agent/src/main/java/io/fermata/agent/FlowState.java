package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.ThreadMetadata;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The state of a thread, for tools and hooks to read and change.
 *
 * <p>It shows the thread as it was when the tool or hook started, plus what that has changed since.
 * All changes are journaled together with the tool's result, in one entry, or not at all: a tool
 * that is interrupted by a crash and repeated finds no partial changes. Tools that run in parallel
 * do not see each other's changes before they complete.
 *
 * <p>It may be used from any thread until the tool or hook has returned. What is done through the
 * state that a hook was handed belongs to that call of the hook, in whichever thread.
 */
public interface FlowState {

  // --- identity --------------------------------------------------------------------------------

  /** The conversation. */
  String threadId();

  /** The execution: from the message that woke the thread until it rests again. */
  String flowId();

  /** The thread's agent, owner, tags, and where it comes from. */
  ThreadMetadata thread();

  /**
   * The same when a call is repeated after a crash; pass it to services that support idempotency
   * keys. A tool that was {@linkplain #invokeTool invoked} has one of its own.
   */
  String idempotencyKey();

  /** 1 for the first attempt; higher if earlier attempts failed or were interrupted. */
  int attempt();

  // --- configuration ---------------------------------------------------------------------------

  Agent agentConfig();

  /** The side that acts. */
  Side currentSide();

  // --- execution -------------------------------------------------------------------------------

  /** How often models were called in this execution, including the current step. */
  int turnCount();

  /** How often a side's model was called in this execution. */
  int stepCount(Side side);

  /** Whether the thread rests after this step. */
  boolean stopped();

  /** The side that stopped the thread; null if neither did. */
  @Nullable Side stoppedBy();

  /** The unfinished calls of the current step. */
  Sequence sequence();

  /**
   * The calls of a step.
   *
   * @param isHandling whether they are being executed
   */
  record Sequence(List<RequestedCall> queue, boolean isHandling) {}

  /** Stops the thread at the end of the step. It changes nothing while the thread rests. */
  void stop();

  /** Stops the thread at the end of the step, with a reason. */
  void stop(@Nullable String reason);

  /** Makes a side act next, out of turn, after the calls of this step. */
  void forceTurn(Side side);

  /** Whether this runs inside a sub-prompt. */
  boolean isChildPrompt();

  /** The state of the conversation that a sub-prompt is part of; null at top level. */
  @Nullable FlowState rootState();

  // --- messages --------------------------------------------------------------------------------

  /**
   * The latest messages of the conversation, as many as models get, or all of them after {@link
   * #reloadHistory}.
   */
  List<Message> messageHistory();

  /**
   * What the thread's latest call of a flow did, in words and without secrets; see {@link
   * FlowTool#explanations}. For tools: when a recorded thread is decided again, there are no runs
   * to read.
   *
   * @param about {@code path}, {@code asked}, {@code decisions} or {@code why}
   * @param field with {@code why}: the field
   */
  String explainFlow(String flow, String about, @Nullable String field) throws InterruptedException;

  /** Reads all messages of the thread from its journal. */
  List<Message> reloadHistory() throws InterruptedException;

  /**
   * Messages at top level without silent ones, the latest first.
   *
   * @param offset how many of the latest to skip
   */
  List<Message> getMessages(int limit, int offset) throws InterruptedException;

  /**
   * Messages, the latest first.
   *
   * @param offset how many of the latest to skip
   * @param depth the maximum depth: 0 for the conversation alone
   * @param silent whether to include silent messages
   */
  List<Message> getMessages(int limit, int offset, int depth, boolean silent)
      throws InterruptedException;

  /** Appends a message to the conversation, or to that of the sub-prompt. */
  Message injectMessage(Message message);

  /** Inserts a message before one of {@link #messageHistory}. */
  Message injectMessage(Message message, String beforeMessageId);

  /** Appends a message to the conversation, from inside a sub-prompt. */
  Message injectTopLevel(Message message);

  /** Changes one of the latest messages. */
  Message updateMessage(String messageId, MessageUpdate update);

  // --- tools -----------------------------------------------------------------------------------

  /**
   * Queues a call of a tool after the calls of this step. The model sees the call and its result as
   * if it had requested it. A resting thread executes it and rests again.
   */
  RequestedCall queueTool(String tool, Object arguments);

  /**
   * Calls a tool now and returns its result, which the conversation does not see. Only tools
   * written in Java can be invoked; queue what may have to wait, or may run only {@link Tool#once},
   * as the work that invokes it is repeated after a crash.
   */
  ToolResult invokeTool(String tool, Object arguments) throws Exception;

  // --- storage ---------------------------------------------------------------------------------

  /** Keys and values that belong to the thread. */
  Storage storage();

  /** The key-value storage of a thread, which lasts until the thread is deleted. */
  interface Storage {
    /** A copy of a value; null for none. */
    @Nullable JsonNode get(String key);

    void put(String key, Object value);

    void delete(String key);

    /** The keys that start with a prefix, sorted. */
    Set<String> list(String prefix);
  }

  /** A copy of the context of the conversation, sorted by key. */
  Map<String, JsonNode> context();

  /** Sets a value in the context of the conversation; null removes it. */
  void context(String key, @Nullable Object value);

  ThreadFiles files();

  /** A variable of the environment: the thread's own, else the agent's, else the host's. */
  @Nullable String env(String property);

  /** Sets a variable of the thread's environment; null removes it. */
  void setEnv(String property, @Nullable String value);

  void setTags(Collection<String> tags);

  /** Publishes a status to the subscribers of the thread. */
  void setStatus(String text);

  // --- events and effects ----------------------------------------------------------------------

  /** Publishes an event to the subscribers of the thread, once it is journaled. */
  void emitEvent(String type, @Nullable Object data);

  /**
   * Schedules work of the agent.
   *
   * @param effect the name of a {@link ScheduledHandler} of the agent
   * @return the id to remove it with
   */
  String scheduleEffect(String effect, Object arguments, Duration delay);

  /** The pending effects, and the latest finished ones. */
  List<ScheduledEffect> scheduledEffects();

  /** Removes a pending effect; false if there is no such effect, or it has started. */
  boolean removeScheduledEffect(String id);

  /** The threads that this one created. */
  List<ChildThread> children();
}

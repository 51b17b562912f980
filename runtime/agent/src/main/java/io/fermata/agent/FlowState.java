package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.flow.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a tool or a hook knows of the thread that it works for, and what it can do to it.
 *
 * <p>It shows the thread as it was when the tool or hook began, with what that did since. What is
 * done through it is journaled together with the result of the tool, in one record, or not at all:
 * a tool that is cut off by a crash and runs again finds nothing half done. Of tools that run side
 * by side, none sees what the others do before they end.
 *
 * <p>It may be used from any thread until the tool or hook has returned.
 */
public final class FlowState {
  private final Scribe scribe;
  private final String frame;

  FlowState(Scribe scribe, String frame) {
    this.scribe = scribe;
    this.frame = frame;
  }

  // --- identity --------------------------------------------------------------------------------

  /** The conversation. */
  public String threadId() {
    return scribe.state().threadId();
  }

  /** The execution: from the message that woke the thread until it rests again. */
  public String flowId() {
    String flowId = scribe.state().course().flowId();
    return flowId == null ? threadId() + "/rest" : flowId;
  }

  /** The thread. */
  public ThreadHandle thread() {
    return new ThreadHandle(new ThreadInstance(this), scribe.state().metadata());
  }

  /**
   * What does not change when a call is made again after a crash; give it to services that
   * understand idempotency keys.
   */
  public String idempotencyKey() {
    return scribe.idempotencyKey();
  }

  /** 1 for the first attempt, more where it failed before or was cut off. */
  public int attempt() {
    return scribe.attempt();
  }

  // --- configuration ---------------------------------------------------------------------------

  public Agent agentConfig() {
    return scribe.agent();
  }

  /** The side that acts. */
  public Side currentSide() {
    Frame current = current();
    return current == null ? scribe.state().course().side() : current.side();
  }

  // --- execution -------------------------------------------------------------------------------

  /** How often models were called in this execution, the step under way included. */
  public int turnCount() {
    return scribe.state().course().steps();
  }

  /** How often a side's model was called in this execution. */
  public int stepCount(Side side) {
    return scribe.state().course().steps(side);
  }

  /** Whether the thread rests after this step. */
  public boolean stopped() {
    Course course = scribe.state().course();
    return course.stopped() || course.stopWanted();
  }

  /** The side that brought it to rest; null if neither did. */
  public @Nullable Side stoppedBy() {
    Course course = scribe.state().course();
    Course.StopRequest request = course.stopRequest();
    return request == null ? course.stoppedBy() : request.by();
  }

  /** The calls of the step under way that are not over. */
  public Sequence sequence() {
    Frame current = current();
    List<ToolCall> queue =
        current == null
            ? List.of()
            : current.calls().stream().filter(c -> !c.over()).map(CallState::call).toList();
    return new Sequence(queue, current != null && current.stage() == Frame.Stage.CALLING);
  }

  /**
   * The calls of a step.
   *
   * @param isHandling whether they are being made
   */
  public record Sequence(List<ToolCall> queue, boolean isHandling) {}

  /** The thread, and what is known about it. */
  public record ThreadHandle(ThreadInstance instance, ThreadMetadata metadata) {}

  /** Lets the thread rest at the end of the step. */
  public void stop() {
    stop(null);
  }

  /** Lets the thread rest at the end of the step, for a reason. */
  public void stop(@Nullable String reason) {
    scribe.write(new ThreadEvent.StopWanted(currentSide(), reason));
  }

  /** Lets a side act next, after the calls of this step, whoever's turn it would be. */
  public void forceTurn(Side side) {
    scribe.write(new ThreadEvent.Forced(side));
  }

  /** Whether this is a sub-prompt's work. */
  public boolean isChildPrompt() {
    return !frame.equals(Frame.TOP);
  }

  /** The state of the conversation that a sub-prompt is part of; null at top level. */
  public @Nullable FlowState rootState() {
    return isChildPrompt() ? new FlowState(scribe, Frame.TOP) : null;
  }

  // --- messages --------------------------------------------------------------------------------

  /**
   * The conversation as far as it is at hand: the latest messages, as many as models are shown, or
   * all of them after {@link #reloadHistory}.
   */
  public List<Message> messageHistory() {
    return scribe.history();
  }

  /** Reads all messages of the thread back from its journal. */
  public List<Message> reloadHistory() throws InterruptedException {
    return scribe.reload();
  }

  /**
   * Messages at top level, the latest first, those that are silent not included.
   *
   * @param offset how many of the latest are left out
   */
  public List<Message> getMessages(int limit, int offset) throws InterruptedException {
    return getMessages(limit, offset, 0, false);
  }

  /**
   * Messages, the latest first.
   *
   * @param offset how many of the latest are left out
   * @param depth the deepest to be listed: 0 for the conversation alone
   */
  public List<Message> getMessages(int limit, int offset, int depth, boolean silent)
      throws InterruptedException {
    return scribe.messages(limit, offset, depth, silent);
  }

  /** Puts a message at the end of the conversation, or of a sub-prompt's. */
  public Message injectMessage(Message message) {
    return scribe.say(frame, message, null);
  }

  /** Puts a message before another one that is at hand. */
  public Message injectMessage(Message message, String beforeMessageId) {
    if (scribe.state().history().message(beforeMessageId) == null) {
      throw new IllegalArgumentException(
          "There is no message " + beforeMessageId + " at hand to put one before");
    }
    return scribe.say(Frame.TOP, message, beforeMessageId);
  }

  /** Puts a message at the end of the conversation, from inside a sub-prompt. */
  public Message injectTopLevel(Message message) {
    return scribe.say(Frame.TOP, message, null);
  }

  /** Changes a message that is at hand. */
  public Message updateMessage(String messageId, MessageUpdate update) {
    return scribe.update(this, messageId, update);
  }

  // --- tools -----------------------------------------------------------------------------------

  /**
   * Has a tool called after the calls of this step. The model sees the call and its result as if it
   * had asked for it. A thread at rest calls it and rests again.
   */
  public ToolCall queueTool(String tool, Object arguments) {
    ObjectNode given = arguments(arguments);
    Offered offered = scribe.requireOffered(scribe.acting(), frame, tool);
    List<Violation> wrong = offered.arguments().check(given);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(Calling.misfit(tool, wrong));
    }
    Bounds.requireFewCalls(scribe.state(), current());
    ToolCall call = ToolCall.of(scribe.newId("q"), tool, given);
    scribe.write(new ThreadEvent.Queued(frame, call));
    return call;
  }

  /**
   * Calls a tool now and returns its result; the conversation does not see it. Only tools written
   * in Java can be called so: what may have to wait is to be queued.
   */
  public ToolResult invokeTool(String tool, Object arguments) throws Exception {
    Offered offered = scribe.requireOffered(scribe.agent(), frame, tool);
    if (!(offered instanceof Tool java)) {
      throw new IllegalArgumentException(
          "The tool " + tool + " may have to wait; use queueTool for it");
    }
    ObjectNode given = arguments(arguments);
    if (java.approval() != null && java.approval().apply(given) != null) {
      throw new IllegalArgumentException(
          "A person has to approve this call of " + tool + "; use queueTool for it");
    }
    return Calling.run(java, this, given);
  }

  private static ObjectNode arguments(Object arguments) {
    JsonNode tree = Json.tree(arguments);
    if (tree instanceof ObjectNode object) {
      return object;
    }
    throw new IllegalArgumentException("The arguments of a tool are an object, not " + tree);
  }

  // --- what is kept ----------------------------------------------------------------------------

  /** Keys and values that belong to the thread. */
  public Storage storage() {
    return new Storage();
  }

  /** A small store of a thread: what is put there stays, through restarts, until it is deleted. */
  public final class Storage {
    private Storage() {}

    public @Nullable JsonNode get(String key) {
      return scribe.state().shelf().storage().get(key);
    }

    public void put(String key, Object value) {
      JsonNode tree = Json.tree(Objects.requireNonNull(value, "value"));
      Bounds.requireRoom(scribe.state().shelf(), key, tree);
      scribe.write(new ThreadEvent.Stored(key, tree));
    }

    public void delete(String key) {
      scribe.write(new ThreadEvent.Stored(key, null));
    }

    public Set<String> list(String prefix) {
      return Keys.startingWith(scribe.state().shelf().storage().keySet(), prefix);
    }
  }

  /** What goes along with the conversation; a copy. */
  public Map<String, JsonNode> context() {
    return new LinkedHashMap<>(scribe.state().shelf().context());
  }

  /** Keeps something that goes along with the conversation; null takes it away. */
  public void context(String key, @Nullable Object value) {
    JsonNode tree = value == null ? null : Json.tree(value);
    if (tree != null) {
      Bounds.requireRoom(scribe.state().shelf(), key, tree);
    }
    scribe.write(new ThreadEvent.ContextSet(key, tree));
  }

  /** The thread's files. */
  public ThreadFiles files() {
    return new ThreadFiles(scribe);
  }

  /** The environment: the thread's own, else the agent's, else the host's. */
  public @Nullable String env(String property) {
    return scribe.env(property);
  }

  /** Sets a variable of the thread's environment; null takes it away. */
  public void setEnv(String property, @Nullable String value) {
    ThreadEvent.EnvSet set = new ThreadEvent.EnvSet(property, value);
    Bounds.requireEnv(scribe.state().apply(List.of(set), 0).shelf().env());
    scribe.write(set);
  }

  public void setTags(Collection<String> tags) {
    scribe.write(new ThreadEvent.Tagged(Bounds.tags(tags)));
  }

  /** Tells those who watch the thread how things stand. */
  public void setStatus(String text) {
    scribe.write(new ThreadEvent.StatusSet(Bounds.text("status", text)));
  }

  // --- events and effects ----------------------------------------------------------------------

  /** Tells those who watch the thread something, once it is journaled. */
  public void emitEvent(String type, @Nullable Object data) {
    JsonNode tree = data == null ? null : Json.tree(data);
    Bounds.requireData("data of the event " + type, tree);
    scribe.write(new ThreadEvent.Emitted(type, tree, scribe.now()));
  }

  /**
   * Puts work of the agent off.
   *
   * @param effect the name of a {@link Deferred} of the agent
   * @return what it can be taken back with
   */
  public String scheduleEffect(String effect, Object arguments, Duration delay) {
    Deferred deferred = scribe.agent().effect(effect);
    if (deferred == null) {
      throw new IllegalArgumentException(
          "The agent %s has no effect %s; it has %s"
              .formatted(
                  scribe.agent().name(),
                  effect,
                  scribe.agent().effects().stream().map(Deferred::name).toList()));
    }
    ObjectNode given = arguments(arguments);
    List<Violation> wrong = deferred.arguments().check(given);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(Calling.misfit(effect, wrong));
    }
    Bounds.requireRoom(scribe.state().effects().values(), given);
    String id = scribe.newId("e");
    scribe.write(
        new ThreadEvent.Scheduled(
            id,
            scribe.agent().name(),
            effect,
            given,
            scribe.now() + Math.max(0, delay.toMillis())));
    return id;
  }

  /** The effects that wait for their time, and the latest that are over. */
  public List<ScheduledEffect> scheduledEffects() {
    return new ArrayList<>(scribe.state().effects().values());
  }

  /** Takes an effect back; false if there is none of that name whose time has not come. */
  public boolean removeScheduledEffect(String id) {
    ScheduledEffect effect = scribe.state().effects().get(id);
    boolean waits = effect != null && effect.status() == ScheduledEffect.Status.PENDING;
    if (waits) {
      scribe.write(new ThreadEvent.Unscheduled(id));
    }
    return waits;
  }

  /** The threads that this one created. */
  public List<ChildThread> children() {
    return List.copyOf(scribe.state().children().values());
  }

  private @Nullable Frame current() {
    return scribe.state().frames().get(frame);
  }

  Scribe scribe() {
    return scribe;
  }

  String frame() {
    return frame;
  }
}

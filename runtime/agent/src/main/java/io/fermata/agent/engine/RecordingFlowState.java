package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.Offered;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.ThreadFiles;
import io.fermata.agent.ThreadInstance;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.TurnState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The state of a thread for one effect, which records what the effect changes. */
final class RecordingFlowState implements FlowState {
  private final ChangeRecorder scribe;
  private final String frame;

  RecordingFlowState(ChangeRecorder scribe, String frame) {
    this.scribe = scribe;
    this.frame = frame;
  }

  // --- identity --------------------------------------------------------------------------------

  @Override
  public String threadId() {
    return scribe.state().threadId();
  }

  @Override
  public String flowId() {
    String flowId = scribe.state().course().flowId();
    return flowId == null ? threadId() + "/rest" : flowId;
  }

  @Override
  public ThreadHandle thread() {
    return new ThreadHandle(new ThreadInstance(this), scribe.state().metadata());
  }

  @Override
  public String idempotencyKey() {
    return scribe.idempotencyKey();
  }

  @Override
  public int attempt() {
    return scribe.attempt();
  }

  // --- configuration ---------------------------------------------------------------------------

  @Override
  public Agent agentConfig() {
    return scribe.agent();
  }

  @Override
  public Side currentSide() {
    StepFrame current = current();
    return current == null ? scribe.state().course().side() : current.side();
  }

  // --- execution -------------------------------------------------------------------------------

  @Override
  public int turnCount() {
    return scribe.state().course().steps();
  }

  @Override
  public int stepCount(Side side) {
    return scribe.state().course().steps(side);
  }

  @Override
  public boolean stopped() {
    TurnState course = scribe.state().course();
    return course.stopped() || course.stopWanted();
  }

  @Override
  public @Nullable Side stoppedBy() {
    TurnState course = scribe.state().course();
    TurnState.StopRequest request = course.stopRequest();
    return request == null ? course.stoppedBy() : request.by();
  }

  @Override
  public Sequence sequence() {
    StepFrame current = current();
    List<RequestedCall> queue =
        current == null
            ? List.of()
            : current.calls().stream().filter(c -> !c.over()).map(CallState::call).toList();
    return new Sequence(queue, current != null && current.stage() == StepFrame.Stage.CALLING);
  }

  @Override
  public void stop() {
    stop(null);
  }

  @Override
  public void stop(@Nullable String reason) {
    scribe.write(new ThreadEvent.StopWanted(currentSide(), reason));
  }

  @Override
  public void forceTurn(Side side) {
    scribe.write(new ThreadEvent.Forced(side));
  }

  @Override
  public boolean isChildPrompt() {
    return !frame.equals(StepFrame.TOP);
  }

  @Override
  public @Nullable FlowState rootState() {
    return isChildPrompt() ? new RecordingFlowState(scribe, StepFrame.TOP) : null;
  }

  // --- messages --------------------------------------------------------------------------------

  @Override
  public List<Message> messageHistory() {
    return scribe.history();
  }

  @Override
  public List<Message> reloadHistory() throws InterruptedException {
    return scribe.reload();
  }

  @Override
  public List<Message> getMessages(int limit, int offset) throws InterruptedException {
    return getMessages(limit, offset, 0, false);
  }

  @Override
  public List<Message> getMessages(int limit, int offset, int depth, boolean silent)
      throws InterruptedException {
    return scribe.messages(limit, offset, depth, silent);
  }

  @Override
  public Message injectMessage(Message message) {
    return scribe.say(frame, message, null);
  }

  @Override
  public Message injectMessage(Message message, String beforeMessageId) {
    if (scribe.state().history().message(beforeMessageId) == null) {
      throw new IllegalArgumentException(
          "There is no message " + beforeMessageId + " at hand to put one before");
    }
    return scribe.say(StepFrame.TOP, message, beforeMessageId);
  }

  @Override
  public Message injectTopLevel(Message message) {
    return scribe.say(StepFrame.TOP, message, null);
  }

  @Override
  public Message updateMessage(String messageId, MessageUpdate update) {
    return scribe.update(this, messageId, update);
  }

  // --- tools -----------------------------------------------------------------------------------

  @Override
  public RequestedCall queueTool(String tool, Object arguments) {
    ObjectNode given = arguments(arguments);
    Offered offered = scribe.requireOffered(scribe.acting(), frame, tool);
    List<Violation> wrong = offered.arguments().check(given);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(ToolCalls.misfit(tool, wrong));
    }
    Capacity.requireForCall(scribe.state(), current());
    RequestedCall call = RequestedCall.of(scribe.newId("q"), tool, given);
    scribe.write(new ThreadEvent.Queued(frame, call));
    return call;
  }

  @Override
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
    return ToolCalls.run(java, this, given);
  }

  private static ObjectNode arguments(Object arguments) {
    JsonNode tree = Json.tree(arguments);
    if (tree instanceof ObjectNode object) {
      return object;
    }
    throw new IllegalArgumentException("The arguments of a tool are an object, not " + tree);
  }

  // --- storage ----------------------------------------------------------------------------

  @Override
  public Storage storage() {
    return new RecordingStorage();
  }

  private final class RecordingStorage implements Storage {
    @Override
    public @Nullable JsonNode get(String key) {
      return scribe.state().shelf().storage().get(key);
    }

    @Override
    public void put(String key, Object value) {
      JsonNode tree = Json.tree(Objects.requireNonNull(value, "value"));
      Capacity.requireForValue(scribe.state().shelf(), key, tree);
      scribe.write(new ThreadEvent.Stored(key, tree));
    }

    @Override
    public void delete(String key) {
      scribe.write(new ThreadEvent.Stored(key, null));
    }

    @Override
    public Set<String> list(String prefix) {
      return startingWith(scribe.state().shelf().storage().keySet(), prefix);
    }
  }

  static Set<String> startingWith(Collection<String> keys, String prefix) {
    Set<String> found = new TreeSet<>(keys);
    found.removeIf(key -> !key.startsWith(prefix));
    return found;
  }

  @Override
  public Map<String, JsonNode> context() {
    return new LinkedHashMap<>(scribe.state().shelf().context());
  }

  @Override
  public void context(String key, @Nullable Object value) {
    JsonNode tree = value == null ? null : Json.tree(value);
    if (tree != null) {
      Capacity.requireForValue(scribe.state().shelf(), key, tree);
    }
    scribe.write(new ThreadEvent.ContextSet(key, tree));
  }

  @Override
  public ThreadFiles files() {
    return new RecordingFiles(scribe);
  }

  @Override
  public @Nullable String env(String property) {
    return scribe.env(property);
  }

  @Override
  public void setEnv(String property, @Nullable String value) {
    ThreadEvent.EnvSet set = new ThreadEvent.EnvSet(property, value);
    Bounds.requireEnv(scribe.state().apply(List.of(set), 0).shelf().env());
    scribe.write(set);
  }

  @Override
  public void setTags(Collection<String> tags) {
    scribe.write(new ThreadEvent.Tagged(Bounds.tags(tags)));
  }

  @Override
  public void setStatus(String text) {
    scribe.write(new ThreadEvent.StatusSet(Bounds.text("status", text)));
  }

  // --- events and effects ----------------------------------------------------------------------

  @Override
  public void emitEvent(String type, @Nullable Object data) {
    JsonNode tree = data == null ? null : Json.tree(data);
    Bounds.requireData("data of the event " + type, tree);
    scribe.write(new ThreadEvent.Emitted(type, tree, scribe.now()));
  }

  @Override
  public String scheduleEffect(String effect, Object arguments, Duration delay) {
    ScheduledHandler deferred = scribe.agent().effect(effect);
    if (deferred == null) {
      throw new IllegalArgumentException(
          "The agent %s has no effect %s; it has %s"
              .formatted(
                  scribe.agent().name(),
                  effect,
                  scribe.agent().effects().stream().map(ScheduledHandler::name).toList()));
    }
    ObjectNode given = arguments(arguments);
    List<Violation> wrong = deferred.arguments().check(given);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(ToolCalls.misfit(effect, wrong));
    }
    Capacity.requireForEffect(scribe.state().effects().values(), given);
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

  @Override
  public List<ScheduledEffect> scheduledEffects() {
    return new ArrayList<>(scribe.state().effects().values());
  }

  @Override
  public boolean removeScheduledEffect(String id) {
    ScheduledEffect effect = scribe.state().effects().get(id);
    boolean waits = effect != null && effect.status() == ScheduledEffect.Status.PENDING;
    if (waits) {
      scribe.write(new ThreadEvent.Unscheduled(id));
    }
    return waits;
  }

  @Override
  public List<ChildThread> children() {
    return List.copyOf(scribe.state().children().values());
  }

  private @Nullable StepFrame current() {
    return scribe.state().frames().get(frame);
  }

  ChangeRecorder scribe() {
    return scribe;
  }

  String frame() {
    return frame;
  }
}

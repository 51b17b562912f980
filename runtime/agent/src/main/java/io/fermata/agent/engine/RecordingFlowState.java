package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.Offered;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.ThreadFiles;
import io.fermata.agent.Tool;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.FilePaths;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.agent.state.TurnState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The state of a thread for one effect, which records what the effect changes. */
final class RecordingFlowState implements FlowState {
  private final ChangeRecorder recorder;
  private final String frame;
  private final String origin;
  private final ChangeRecorder.@Nullable HookCall hookCall;

  RecordingFlowState(ChangeRecorder recorder, String frame) {
    this(recorder, frame, recorder.origin(), null);
  }

  private RecordingFlowState(
      ChangeRecorder recorder,
      String frame,
      String origin,
      ChangeRecorder.@Nullable HookCall hookCall) {
    this.recorder = recorder;
    this.frame = frame;
    this.origin = origin;
    this.hookCall = hookCall;
  }

  /** This state for a hook: what is done through it belongs to that call of the hook. */
  RecordingFlowState during(ChangeRecorder.HookCall call) {
    return new RecordingFlowState(recorder, frame, origin, call);
  }

  /** This state for a tool that is invoked: an effect may invoke several, each under a key. */
  private RecordingFlowState invoking() {
    return new RecordingFlowState(recorder, frame, recorder.newId("i"), hookCall);
  }

  ChangeRecorder.@Nullable HookCall hookCall() {
    return hookCall;
  }

  private RecordingFlowState root() {
    return new RecordingFlowState(recorder, StepFrame.TOP, origin, hookCall);
  }

  private void change(ThreadEvent.Change change) {
    recorder.write(change, hookCall);
  }

  /**
   * Makes the changes of another call, whose hooks have run.
   *
   * @param ids what was added before, by the ids that it has in the other thread
   */
  void repeat(List<ThreadEvent.Change> changes, Map<String, String> ids) {
    for (ThreadEvent.Change each : changes) {
      if (each instanceof ThreadEvent.Said e) {
        RecordingFlowState at = repeated(e.frame());
        Message again = recorder.placed(at, e.message());
        ids.put(e.message().id(), again.id());
        String before = e.before();
        change(
            new ThreadEvent.Said(
                at.frame, again, before == null ? null : ids.getOrDefault(before, before)));
      } else if (each instanceof ThreadEvent.Updated e) {
        String id = ids.getOrDefault(e.messageId(), e.messageId());
        change(new ThreadEvent.Updated(id, e.update()));
      } else if (each instanceof ThreadEvent.Queued e) {
        RequestedCall.Function wanted = e.call().function();
        RequestedCall again =
            RequestedCall.of(recorder.newId("q"), wanted.name(), wanted.arguments());
        change(new ThreadEvent.Queued(repeated(e.frame()).frame, again));
      } else if (each instanceof ThreadEvent.Scheduled e) {
        String id = recorder.newId("e");
        ids.put(e.id(), id);
        change(new ThreadEvent.Scheduled(id, e.agent(), e.effect(), e.arguments(), e.due()));
      } else if (each instanceof ThreadEvent.Unscheduled e) {
        change(new ThreadEvent.Unscheduled(ids.getOrDefault(e.id(), e.id())));
      } else if (!(each instanceof ThreadEvent.ChildCreated
          || each instanceof ThreadEvent.ChildResumed)) {
        change(each);
      }
    }
  }

  /** This state where another call changed the conversation itself, or the frame that it is in. */
  private RecordingFlowState repeated(@Nullable String inFrame) {
    return StepFrame.TOP.equals(inFrame) ? root() : this;
  }

  // --- identity --------------------------------------------------------------------------------

  @Override
  public String threadId() {
    return recorder.state().threadId();
  }

  @Override
  public String flowId() {
    String flowId = recorder.state().turn().flowId();
    return flowId == null ? threadId() + "/rest" : flowId;
  }

  @Override
  public ThreadMetadata thread() {
    return recorder.state().metadata();
  }

  @Override
  public String idempotencyKey() {
    return threadId() + "/" + origin;
  }

  @Override
  public int attempt() {
    return recorder.attempt();
  }

  // --- configuration ---------------------------------------------------------------------------

  @Override
  public Agent agentConfig() {
    return recorder.agent();
  }

  @Override
  public Side currentSide() {
    StepFrame current = current();
    return current == null ? recorder.state().turn().side() : current.side();
  }

  // --- execution -------------------------------------------------------------------------------

  @Override
  public int turnCount() {
    return recorder.state().turn().steps();
  }

  @Override
  public int stepCount(Side side) {
    return recorder.state().turn().steps(side);
  }

  @Override
  public boolean stopped() {
    TurnState turn = recorder.state().turn();
    return turn.stopped() || turn.stopWanted();
  }

  @Override
  public @Nullable Side stoppedBy() {
    TurnState turn = recorder.state().turn();
    TurnState.StopRequest request = turn.stopRequest();
    return request == null ? turn.stoppedBy() : request.by();
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
    change(
        new ThreadEvent.StopWanted(
            currentSide(), StopCode.STATE_STOP_SESSION, Bounds.shortened(reason)));
  }

  @Override
  public void forceTurn(Side side) {
    change(new ThreadEvent.Forced(side));
  }

  @Override
  public boolean isChildPrompt() {
    return !frame.equals(StepFrame.TOP);
  }

  @Override
  public @Nullable FlowState rootState() {
    return isChildPrompt() ? root() : null;
  }

  // --- messages --------------------------------------------------------------------------------

  @Override
  public List<Message> messageHistory() {
    return recorder.history();
  }

  @Override
  public String explainFlow(String flow, String about, @Nullable String field)
      throws InterruptedException {
    return AuthorFailures.await(recorder.outside().explainFlow(flow, about, field));
  }

  @Override
  public List<Message> reloadHistory() throws InterruptedException {
    return recorder.reload();
  }

  @Override
  public List<Message> getMessages(int limit, int offset) throws InterruptedException {
    return getMessages(limit, offset, 0, false);
  }

  @Override
  public List<Message> getMessages(int limit, int offset, int depth, boolean silent)
      throws InterruptedException {
    return recorder.messages(limit, offset, depth, silent);
  }

  @Override
  public Message injectMessage(Message message) {
    return recorder.say(this, message, null);
  }

  @Override
  public Message injectMessage(Message message, String beforeMessageId) {
    if (recorder.state().history().message(beforeMessageId) == null) {
      throw new IllegalArgumentException(
          "There is no message "
              + beforeMessageId
              + " among the latest messages; only"
              + " before those can one be inserted");
    }
    return recorder.say(root(), message, beforeMessageId);
  }

  @Override
  public Message injectTopLevel(Message message) {
    return recorder.say(root(), message, null);
  }

  @Override
  public Message updateMessage(String messageId, MessageUpdate update) {
    return recorder.update(this, messageId, update);
  }

  // --- tools -----------------------------------------------------------------------------------

  @Override
  public RequestedCall queueTool(String tool, Object arguments) {
    ObjectNode given = arguments(arguments);
    Offered offered = recorder.requireOffered(recorder.acting(), frame, tool);
    List<Violation> wrong = offered.arguments().check(given);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(ToolCalls.misfit(tool, wrong));
    }
    Capacity.requireForCall(recorder.state(), current());
    RequestedCall call = RequestedCall.of(recorder.newId("q"), tool, given);
    change(new ThreadEvent.Queued(frame, call));
    return call;
  }

  @Override
  public ToolResult invokeTool(String tool, Object arguments) throws Exception {
    Offered offered = recorder.requireOffered(recorder.agent(), frame, tool);
    if (!(offered instanceof Tool java)) {
      throw new IllegalArgumentException("The tool " + tool + " may have to wait; use queueTool");
    }
    if (recorder.state().sandboxed()) {
      throw new IllegalStateException(
          "The tool " + tool + " is not called, as the thread is in a sandbox");
    }
    ObjectNode given = arguments(arguments);
    if (java.approval() != null && java.approval().apply(given.deepCopy()) != null) {
      throw new IllegalArgumentException(
          "A person must approve this call of " + tool + "; use queueTool");
    } else if (java.policy().once()) {
      throw new IllegalArgumentException(
          "The tool %s may run only once, and what invokes it is repeated; use queueTool"
              .formatted(tool));
    }
    RecordingFlowState own = invoking();
    return ToolCalls.run(java, given, args -> recorder.outside().invoke(java, own, args));
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
      return Json.copy(recorder.state().stored().storage().get(Texts.sound(key)));
    }

    @Override
    public void put(String name, Object value) {
      String key = Texts.sound(name);
      JsonNode tree = Json.tree(Objects.requireNonNull(value, "value"));
      writeValue(key, new ThreadEvent.Stored(key, tree));
    }

    @Override
    public void delete(String key) {
      change(new ThreadEvent.Stored(Texts.sound(key), null));
    }

    @Override
    public Set<String> list(String prefix) {
      return startingWith(recorder.state().stored().storage().keySet(), prefix);
    }
  }

  /** What parallel calls have taken beyond the bound together may shrink in steps. */
  private void writeValue(String key, ThreadEvent.Change change) {
    ThreadState before = recorder.state();
    long size = before.apply(List.of(change), 0).stored().size();
    if (size > Bounds.STORAGE && size > before.stored().size()) {
      throw new IllegalArgumentException(
          "%s does not fit: context and storage of a thread hold up to %s characters, and this would make %s; store large data as files"
              .formatted(key, Bounds.STORAGE, size));
    }
    change(change);
  }

  static Set<String> startingWith(Collection<String> keys, String prefix) {
    Set<String> found = new TreeSet<>(keys);
    found.removeIf(key -> !key.startsWith(prefix));
    return found;
  }

  @Override
  public Map<String, JsonNode> context() {
    Map<String, JsonNode> context = new TreeMap<>(recorder.state().stored().context());
    context.replaceAll((key, value) -> Json.tree(value));
    return context;
  }

  @Override
  public void context(String name, @Nullable Object value) {
    String key = Texts.sound(name);
    JsonNode tree = value == null ? null : Json.tree(value);
    writeValue(key, new ThreadEvent.ContextSet(key, tree));
  }

  @Override
  public ThreadFiles files() {
    return new RecordingFiles();
  }

  private final class RecordingFiles implements ThreadFiles {
    @Override
    public ThreadStorage.StoredFile write(String path, String mimeType, byte[] data) {
      String clean = FilePaths.clean(path);
      boolean isNew = !exists(clean);
      if (data.length > Bounds.FILE) {
        throw new IllegalArgumentException(
            "The file %s has %s bytes; a thread keeps files of at most %s"
                .formatted(clean, data.length, Bounds.FILE));
      } else if (isNew && recorder.state().stored().files().size() >= Bounds.FILES) {
        throw new IllegalArgumentException(
            "The thread has %s files already; delete some before writing %s"
                .formatted(Bounds.FILES, clean));
      }
      change(
          new ThreadEvent.FileWritten(clean, Texts.sound(mimeType), data.clone(), recorder.now()));
      return stat(clean);
    }

    @Override
    public ThreadStorage.StoredFile write(String path, String text) {
      return write(path, "text/plain", text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public byte[] read(String path) throws InterruptedException {
      return recorder.bytes(stat(path));
    }

    @Override
    public String readText(String path) throws InterruptedException {
      return new String(read(path), StandardCharsets.UTF_8);
    }

    @Override
    public boolean exists(String path) {
      return recorder.state().stored().files().containsKey(FilePaths.clean(path));
    }

    @Override
    public ThreadStorage.StoredFile stat(String path) {
      ThreadStorage.StoredFile file = recorder.state().stored().files().get(FilePaths.clean(path));
      if (file == null) {
        throw new IllegalArgumentException("The thread has no file " + FilePaths.clean(path));
      }
      return file;
    }

    @Override
    public List<String> list(String prefix) {
      return List.copyOf(
          startingWith(recorder.state().stored().files().keySet(), FilePaths.clean(prefix)));
    }

    @Override
    public List<String> find(String glob) {
      Pattern pattern = FilePaths.glob(FilePaths.clean(glob));
      return list("/").stream().filter(path -> pattern.matcher(path).matches()).toList();
    }

    @Override
    public List<Match> grep(String regex, String prefix) throws InterruptedException {
      Pattern pattern = Pattern.compile(regex);
      List<Match> matches = new ArrayList<>();
      for (String path : list(prefix)) {
        if (stat(path).mimeType().startsWith("text/")) {
          List<String> lines = readText(path).lines().toList();
          for (int i = 0; i < lines.size(); i++) {
            if (pattern.matcher(lines.get(i)).find()) {
              matches.add(new Match(path, i + 1, lines.get(i)));
            }
          }
        }
      }
      return matches;
    }

    @Override
    public void delete(String path) {
      change(new ThreadEvent.FileRemoved(stat(path).path()));
    }

    @Override
    public void move(String path, String to) {
      change(new ThreadEvent.FileMoved(stat(path).path(), FilePaths.clean(to)));
    }
  }

  @Override
  public @Nullable String env(String property) {
    return recorder.env(property);
  }

  @Override
  public void setEnv(String property, @Nullable String value) {
    ThreadEvent.EnvSet set =
        new ThreadEvent.EnvSet(Texts.sound(property), value == null ? null : Texts.sound(value));
    Bounds.requireEnv(recorder.state().apply(List.of(set), 0).stored().env());
    change(set);
  }

  @Override
  public void setTags(Collection<String> tags) {
    change(new ThreadEvent.Tagged(Bounds.tags(tags)));
  }

  @Override
  public void setStatus(String text) {
    change(new ThreadEvent.StatusSet(Bounds.text("status", text)));
  }

  // --- events and effects ----------------------------------------------------------------------

  @Override
  public void emitEvent(String type, @Nullable Object data) {
    JsonNode tree = data == null ? null : Json.tree(data);
    Bounds.requireData("data of the event " + type, tree);
    change(new ThreadEvent.Emitted(Texts.sound(type), tree, recorder.now()));
  }

  @Override
  public String scheduleEffect(String effect, Object arguments, Duration delay) {
    ScheduledHandler deferred = recorder.agent().effect(effect);
    if (deferred == null) {
      throw new IllegalArgumentException(
          "The agent %s has no effect %s; it has %s"
              .formatted(
                  recorder.agent().name(),
                  effect,
                  recorder.agent().effects().stream().map(ScheduledHandler::name).toList()));
    }
    if (delay.compareTo(Limits.TIME) > 0) {
      throw new IllegalArgumentException(
          "The effect %s is scheduled for after %s; give it at most %s days"
              .formatted(effect, delay, Limits.TIME.toDays()));
    }
    ObjectNode given = arguments(arguments);
    List<Violation> wrong = deferred.arguments().check(given);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(ToolCalls.misfit(effect, wrong));
    }
    given = deferred.arguments().meant(given);
    Capacity.requireForEffect(recorder.state().effects().values(), given);
    String id = recorder.newId("e");
    change(
        new ThreadEvent.Scheduled(
            id,
            recorder.agent().name(),
            effect,
            given,
            recorder.now() + (delay.isNegative() ? 0 : delay.toMillis())));
    return id;
  }

  @Override
  public List<ScheduledEffect> scheduledEffects() {
    return new ArrayList<>(recorder.state().effects().values());
  }

  @Override
  public boolean removeScheduledEffect(String id) {
    ScheduledEffect effect = recorder.state().effects().get(id);
    boolean waits = effect != null && effect.status() == ScheduledEffect.Status.PENDING;
    if (waits) {
      change(new ThreadEvent.Unscheduled(id));
    }
    return waits;
  }

  @Override
  public List<ChildThread> children() {
    return List.copyOf(recorder.state().children().values());
  }

  private @Nullable StepFrame current() {
    return recorder.state().frames().get(frame);
  }

  ChangeRecorder recorder() {
    return recorder;
  }

  String frame() {
    return frame;
  }

  /** Rejects what would take a thread beyond its {@link Bounds}. */
  private static final class Capacity {
    private Capacity() {}

    /** Prevents tools that queue each other from running forever. */
    static void requireForCall(ThreadState state, @Nullable StepFrame frame) {
      int calls =
          state.waiting().size() + (frame == null ? 0 : frame.calls().size() + frame.made().size());
      if (calls >= Bounds.CALLS) {
        throw new IllegalArgumentException("A step has at most %s calls".formatted(Bounds.CALLS));
      }
    }

    static void requireForEffect(Collection<ScheduledEffect> effects, JsonNode arguments) {
      int waiting = 1;
      long size = Json.text(arguments).length();
      for (ScheduledEffect effect : effects) {
        if (!effect.over()) {
          waiting++;
          size += Json.text(effect.arguments()).length();
        }
      }
      if (waiting > Bounds.EFFECTS || size > Bounds.EFFECTS_ARGUMENTS) {
        throw new IllegalArgumentException(
            "A thread has at most %s scheduled effects with %s characters of arguments, and this would make %s with %s; remove some, or store large data as files"
                .formatted(Bounds.EFFECTS, Bounds.EFFECTS_ARGUMENTS, waiting, size));
      }
    }
  }
}

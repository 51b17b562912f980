package io.fermata.agent.engine;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.Role;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Records the changes of one effect, and shows the effect the thread with these changes. */
final class ChangeRecorder {
  private static final Logger LOG = LoggerFactory.getLogger(ChangeRecorder.class);

  /** The longest id of a call that all providers accept. */
  private static final int LONGEST_ID = 40;

  private final Agents agents;
  private final Agent agent;
  private final Outside outside;
  private final HookRunner hooks;
  private final String origin;
  private final int attempt;
  private final ThreadState base;
  private @Nullable Written last;
  private int earlier;
  private @Nullable ThreadEvent kept;
  private List<Message> keptMessages = List.of();
  private ThreadState state;
  private volatile @Nullable List<Message> whole;
  private int ids;
  private String naming;
  private volatile boolean hostRead;
  private boolean over;
  private boolean reported;

  /** What was recorded, with what was before it, and the call of a hook that made it. */
  private static final class Written {
    private final @Nullable Written previous;
    private final ThreadEvent event;
    private final @Nullable HookCall by;
    private final int count;

    Written(@Nullable Written previous, ThreadEvent event, @Nullable HookCall by) {
      this.previous = previous;
      this.event = event;
      this.by = by;
      this.count = previous == null ? 1 : previous.count + 1;
    }

    boolean partOf(HookCall call) {
      HookCall each = by;
      while (each != null && each != call) {
        each = each.outer;
      }
      return each == call;
    }
  }

  /** A call of a hook, which may be made while another one is in progress. */
  static final class HookCall {
    private final Hook hook;
    private final @Nullable HookCall outer;
    private final ThreadState state;
    private final @Nullable Written last;

    /**
     * @param state the thread when it began
     * @param last what was recorded last before it
     */
    private HookCall(
        Hook hook, @Nullable HookCall outer, ThreadState state, @Nullable Written last) {
      this.hook = hook;
      this.outer = outer;
      this.state = state;
      this.last = last;
    }

    /** Whether it is about a message, or made for a hook that is. */
    boolean ofMessage() {
      return hook instanceof Hook.BeforeCreateMessage
          || hook instanceof Hook.AfterCreateMessage
          || hook instanceof Hook.BeforeUpdateMessage
          || hook instanceof Hook.AfterUpdateMessage
          || (outer != null && outer.ofMessage());
    }
  }

  /**
   * @param origin the subject of the effect; the same when it is repeated
   */
  ChangeRecorder(
      Agents agents,
      Agent agent,
      ThreadState state,
      HookRunner hooks,
      Outside outside,
      String origin,
      int attempt) {
    this.agents = agents;
    this.agent = agent;
    this.base = state;
    this.state = state;
    this.hooks = hooks;
    this.outside = outside;
    this.origin = origin;
    this.attempt = attempt;
    this.naming = origin;
  }

  /** Derives the following ids from another origin, independently of earlier ids. */
  synchronized void naming(String prefix) {
    naming = prefix;
    ids = 0;
  }

  synchronized ThreadState state() {
    return state;
  }

  Agent agent() {
    return agent;
  }

  /** The agent that the thread has now; scheduled work may belong to another. */
  Agent acting() {
    return agents.get(state().agent());
  }

  HookRunner hooks() {
    return hooks;
  }

  Outside outside() {
    return outside;
  }

  int attempt() {
    return attempt;
  }

  String origin() {
    return origin;
  }

  long now() {
    return outside.now();
  }

  /** A unique id in the thread; the same when the effect is repeated. */
  synchronized String newId(String prefix) {
    String id = naming + "." + prefix + ++ids;
    return id.length() <= LONGEST_ID
        ? id
        : UUID.nameUUIDFromBytes(id.getBytes(StandardCharsets.UTF_8)).toString();
  }

  void write(ThreadEvent.Change change) {
    write(change, null);
  }

  /**
   * @throws IllegalStateException if the changes of the effect were taken already
   */
  synchronized void write(ThreadEvent.Change change, @Nullable HookCall by) {
    requireOpen();
    add(change, by);
  }

  /** Nobody may read the exception, as it may be thrown to a stage that was not returned. */
  private void requireOpen() {
    if (!over) {
      return;
    }
    String refusal =
        "The effect %s is over; what it writes after that would be lost. Let its handler wait for its stages; a tool may return one"
            .formatted(origin);
    if (!reported) {
      reported = true;
      LOG.warn("Thread {}: {}", state.threadId(), Texts.inOneLine(refusal));
    }
    throw new IllegalStateException(refusal);
  }

  private void add(ThreadEvent event, @Nullable HookCall by) {
    state = ThreadFold.apply(state, event, 0, size());
    last = new Written(last, event, by);
  }

  private int size() {
    return last == null ? 0 : last.count;
  }

  /** How many changes there are so far. */
  synchronized int count() {
    return size() - earlier - (kept == null ? 0 : 1);
  }

  /** All changes; later ones are refused. */
  synchronized List<ThreadEvent.Change> changes() {
    List<ThreadEvent.Change> changes = new ArrayList<>(before());
    changes.addAll(after());
    return List.copyOf(changes);
  }

  /** Starts after changes that are not journaled yet. */
  ChangeRecorder following(List<ThreadEvent.Change> done) {
    done.forEach(change -> add(change, null));
    earlier = size();
    return this;
  }

  /** What is not journaled yet, in order. */
  private List<ThreadEvent> done() {
    return recorded().stream().map(written -> written.event).toList();
  }

  private synchronized List<Written> recorded() {
    List<Written> all = new ArrayList<>();
    for (Written each = last; each != null; each = each.previous) {
      all.add(each);
    }
    Collections.reverse(all);
    return all;
  }

  private void rewrite(ThreadState from, @Nullable Written end, List<Written> following) {
    state = from;
    last = end;
    following.forEach(written -> add(written.event, written.by));
  }

  /** Marks the point at which the subject of the effect happened. */
  synchronized void kept(ThreadEvent event) {
    Set<String> known = messages(state).map(Message::id).collect(Collectors.toSet());
    add(event, null);
    kept = event;
    keptMessages = messages(state).filter(message -> !known.contains(message.id())).toList();
  }

  private static Stream<Message> messages(ThreadState state) {
    return Stream.concat(
        state.history().messages().stream(),
        state.frames().values().stream().flatMap(frame -> frame.said().stream()));
  }

  /** The changes before that point; later ones are refused. */
  synchronized List<ThreadEvent.Change> before() {
    return taken(false);
  }

  /** The changes after that point; later ones are refused. */
  synchronized List<ThreadEvent.Change> after() {
    return taken(true);
  }

  private List<ThreadEvent.Change> taken(boolean after) {
    over = true;
    List<ThreadEvent.Change> changes = new ArrayList<>();
    boolean past = false;
    for (ThreadEvent event : done().subList(earlier, size())) {
      if (event == kept) {
        past = true;
      } else if (past == after) {
        changes.add((ThreadEvent.Change) event);
      }
    }
    return List.copyOf(changes);
  }

  /** Adds what replays need, which changes nothing, at a place before that point. */
  synchronized void insert(int place, ThreadEvent.Change change) {
    List<Written> all = recorded();
    all.add(earlier + place, new Written(null, change, null));
    rewrite(base, null, all);
  }

  /** Notes where a call of a hook begins, which another one may have caused. */
  synchronized HookCall began(Hook hook, @Nullable HookCall outer) {
    return new HookCall(hook, outer, state, last);
  }

  /** Takes back what a hook that throws did; what others did meanwhile stays. */
  synchronized void failed(HookCall call, String reason) {
    requireOpen();
    List<Written> others = new ArrayList<>();
    Written each = last;
    while (each != null && each != call.last) {
      if (!each.partOf(call)) {
        others.add(each);
      }
      each = each.previous;
    }
    Collections.reverse(others);
    rewrite(each == null ? base : call.state, each, others);
    write(
        new ThreadEvent.HookFailed(call.hook.id(), call.hook.getClass().getSimpleName(), reason),
        call.outer);
  }

  // --- messages --------------------------------------------------------------------------------

  List<Message> history() {
    List<Message> all = whole;
    return all == null ? state().history().messages() : withOwn(all, 0);
  }

  /** The journaled messages with what this effect has done, oldest first. */
  private synchronized List<Message> withOwn(List<Message> journaled, int depth) {
    List<Message> all = new ArrayList<>(journaled);
    for (ThreadEvent event : done()) {
      if (event == kept) {
        keptMessages.stream().filter(message -> message.depth() <= depth).forEach(all::add);
      } else {
        apply(event, all, depth);
      }
    }
    return all;
  }

  private static void apply(ThreadEvent event, List<Message> all, int depth) {
    if (event instanceof ThreadEvent.Said said && said.message().depth() <= depth) {
      int place =
          said.before() == null
              ? -1
              : all.stream().map(Message::id).toList().indexOf(said.before());
      all.add(place < 0 ? all.size() : place, said.message());
    } else if (event instanceof ThreadEvent.Updated updated) {
      all.replaceAll(m -> m.id().equals(updated.messageId()) ? updated.update().of(m) : m);
    }
  }

  List<Message> reload() throws InterruptedException {
    List<Message> all =
        new ArrayList<>(AuthorFailures.await(outside.history(null, Integer.MAX_VALUE, 0)));
    Collections.reverse(all);
    whole = List.copyOf(all);
    return history();
  }

  List<Message> messages(int limit, int offset, int depth, boolean silent)
      throws InterruptedException {
    if (limit < 0 || offset < 0) {
      throw new IllegalArgumentException("limit and offset must not be negative");
    }
    List<Message> newestFirst = new ArrayList<>(history());
    Collections.reverse(newestFirst);
    List<Message> found = shown(newestFirst, silent);
    boolean complete = newestFirst.size() >= state().history().count();
    if (depth > 0 || (!complete && found.size() < (long) limit + offset)) {
      found = journaled((long) limit + offset, depth, silent);
    }
    int from = Math.min(offset, found.size());
    return List.copyOf(found.subList(from, (int) Math.min(found.size(), (long) from + limit)));
  }

  /** Reads back until it has found this many visible messages; the latest first. */
  private List<Message> journaled(long wanted, int depth, boolean silent)
      throws InterruptedException {
    long most = wanted + 64;
    while (true) {
      int limit = (int) Math.min(Integer.MAX_VALUE, most);
      List<Message> read =
          new ArrayList<>(AuthorFailures.await(outside.history(null, limit, depth)));
      boolean begun = read.size() < limit;
      Collections.reverse(read);
      List<Message> all = new ArrayList<>(withOwn(read, depth));
      Collections.reverse(all);
      List<Message> found = shown(all, silent);
      if (begun || found.size() >= wanted) {
        return found;
      }
      most *= 2;
    }
  }

  private static List<Message> shown(List<Message> messages, boolean silent) {
    return messages.stream().filter(m -> silent || !m.silent()).toList();
  }

  Message say(RecordingFlowState flow, Message message, @Nullable String before) {
    if (message.role() == Role.TOOL) {
      throw new IllegalArgumentException(
          "The role tool is reserved for results of calls; queue a call, or use another role");
    } else if (!message.toolCalls().isEmpty()) {
      throw new IllegalArgumentException(
          "An injected message cannot contain calls; queue the calls");
    }
    Bounds.text("message", message.content() == null ? "" : message.content());
    Bounds.requireData("metadata of the message", message.metadata());
    Message placed = placed(flow, message);
    HookCall by = flow.hookCall();
    if (by != null && by.ofMessage()) {
      write(new ThreadEvent.Said(flow.frame(), placed, before), by);
      return placed;
    }
    Message said = beforeCreate(flow, placed);
    write(new ThreadEvent.Said(flow.frame(), said, before), by);
    afterCreate(flow, said);
    return said;
  }

  /** A message where a call adds it, under an id of its own. */
  Message placed(RecordingFlowState flow, Message message) {
    StepFrame place = state().frames().get(flow.frame());
    int depth = place == null ? 0 : place.depth();
    String parent = place == null ? null : place.parentId();
    return message.placed("m-" + newId("m"), now() * 1000, depth, parent);
  }

  /** Runs the hooks for a message; messages that hooks inject do not pass hooks. */
  Message beforeCreate(RecordingFlowState flow, Message message) {
    return message.as(hooks.beforeCreate(flow, message));
  }

  void afterCreate(RecordingFlowState flow, Message message) {
    hooks.afterCreate(flow, message);
  }

  Message update(RecordingFlowState flow, String id, MessageUpdate update) {
    Message before = state().message(id);
    if (before == null) {
      throw new IllegalArgumentException(
          "There is no message " + id + " among the latest messages; only those can be changed");
    }
    HookCall by = flow.hookCall();
    boolean passesHooks = by == null || !by.ofMessage();
    MessageUpdate changed = passesHooks ? hooks.beforeUpdate(flow, id, update) : update;
    if (changed.content() != null) {
      Bounds.text("message", changed.content());
    }
    Bounds.requireData("metadata of the message", changed.metadata());
    write(new ThreadEvent.Updated(id, changed), by);
    Message after = changed.of(before);
    if (passesHooks) {
      hooks.afterUpdate(flow, after);
    }
    return after;
  }

  // --- tools, environment, files ---------------------------------------------------------------

  /** The prompt of a frame; null for none. */
  static @Nullable Prompt prompt(Agent agent, @Nullable StepFrame frame) {
    if (frame == null || frame.prompt() == null) {
      return null;
    }
    return agent.prompt(frame.prompt());
  }

  Offered requireOffered(Agent by, String frame, String tool) {
    Prompt prompt = prompt(by, state().frames().get(frame));
    Offered offered = ToolCalls.offered(by, prompt, tool, true);
    if (offered == null) {
      throw new IllegalArgumentException(
          "The agent " + by.name() + " offers no tool " + tool + " to any of its prompts");
    }
    return offered;
  }

  @Nullable String env(String property) {
    String own = ownEnv(property);
    if (own != null) {
      return own;
    }
    String hosts = outside.env(property);
    if (hosts != null) {
      hostRead = true;
    }
    return hosts;
  }

  /** A variable of the thread or its agent, which a replay has, too. */
  @Nullable String ownEnv(String property) {
    String own = state().stored().env().get(property);
    return own == null ? agent.env().get(property) : own;
  }

  /** Whether a variable of the host was read since this was last asked. */
  boolean hasReadHost() {
    boolean read = hostRead;
    hostRead = false;
    return read;
  }

  byte[] bytes(ThreadStorage.StoredFile file) throws InterruptedException {
    return file.seq() == 0 && done().get(file.index()) instanceof ThreadEvent.FileWritten written
        ? written.data().clone()
        : AuthorFailures.await(outside.file(file));
  }

  /** A tree as an object; an empty one if it is not an object. */
  static com.fasterxml.jackson.databind.node.ObjectNode object(
      com.fasterxml.jackson.databind.@Nullable JsonNode tree) {
    return tree instanceof com.fasterxml.jackson.databind.node.ObjectNode object
        ? object
        : Json.object();
  }
}

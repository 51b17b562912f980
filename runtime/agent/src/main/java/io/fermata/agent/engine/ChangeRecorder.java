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
  private final List<ThreadEvent.Change> earlier = new ArrayList<>();
  private @Nullable Written lastBefore;
  private @Nullable ThreadEvent kept;
  private @Nullable Written lastAfter;
  private List<Message> keptMessages = List.of();
  private ThreadState state;
  private volatile @Nullable List<Message> whole;
  private int ids;
  private String naming;
  private volatile boolean hostRead;
  private boolean over;
  private boolean reported;

  /** A change with those before it, and the call of a hook that made it; null for none. */
  private static final class Written {
    private final @Nullable Written previous;
    private final ThreadEvent.Change change;
    private final @Nullable HookCall by;
    private final int count;

    Written(@Nullable Written previous, ThreadEvent.Change change, @Nullable HookCall by) {
      this.previous = previous;
      this.change = change;
      this.by = by;
      this.count = count(previous) + 1;
    }

    static int count(@Nullable Written last) {
      return last == null ? 0 : last.count;
    }

    static List<Written> list(@Nullable Written last) {
      List<Written> all = new ArrayList<>();
      for (Written each = last; each != null; each = each.previous) {
        all.add(each);
      }
      Collections.reverse(all);
      return all;
    }

    static @Nullable Written last(List<Written> all) {
      Written last = null;
      for (Written each : all) {
        last = new Written(last, each.change, each.by);
      }
      return last;
    }

    static @Nullable Written without(@Nullable Written last, HookCall call) {
      return last(list(last).stream().filter(written -> !written.partOf(call)).toList());
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
    private final Point begin;

    private HookCall(Hook hook, @Nullable HookCall outer, Point begin) {
      this.hook = hook;
      this.outer = outer;
      this.begin = begin;
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

  /** What was recorded at a moment, and the thread with it. */
  private record Point(
      ThreadState state, @Nullable ThreadEvent kept, @Nullable Written lastWritten) {}

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
    proceed(ThreadFold.apply(state, change, 0, size()), new Written(lastWritten(), change, by));
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

  private void proceed(ThreadState next, @Nullable Written last) {
    state = next;
    if (kept == null) {
      lastBefore = last;
    } else {
      lastAfter = last;
    }
  }

  private @Nullable Written lastWritten() {
    return kept == null ? lastBefore : lastAfter;
  }

  /** How many changes there are so far. */
  synchronized int count() {
    return Written.count(lastBefore) + Written.count(lastAfter);
  }

  /** All changes; later ones are refused. */
  synchronized List<ThreadEvent.Change> changes() {
    List<ThreadEvent.Change> changes = new ArrayList<>(before());
    changes.addAll(after());
    return List.copyOf(changes);
  }

  /** Starts after changes that are not journaled yet. */
  ChangeRecorder following(List<ThreadEvent.Change> done) {
    earlier.addAll(done);
    state = folded();
    return this;
  }

  /** What is not journaled yet, in order. */
  private synchronized List<ThreadEvent> done() {
    List<ThreadEvent> done = new ArrayList<>(earlier);
    done.addAll(changes(lastBefore));
    if (kept != null) {
      done.add(kept);
    }
    done.addAll(changes(lastAfter));
    return done;
  }

  private int size() {
    return earlier.size() + count() + (kept == null ? 0 : 1);
  }

  private ThreadState folded() {
    return base.apply(done(), 0);
  }

  /** Marks the point at which the subject of the effect happened. */
  synchronized void kept(ThreadEvent event) {
    Set<String> known = messages(state).map(Message::id).collect(Collectors.toSet());
    state = ThreadFold.apply(state, event, 0, size());
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
    return taken(lastBefore);
  }

  /** The changes after that point; later ones are refused. */
  synchronized List<ThreadEvent.Change> after() {
    return taken(lastAfter);
  }

  private List<ThreadEvent.Change> taken(@Nullable Written last) {
    over = true;
    return changes(last);
  }

  private static List<ThreadEvent.Change> changes(@Nullable Written last) {
    return Written.list(last).stream().map(written -> written.change).toList();
  }

  /** Adds what replays need, which changes nothing, at a place before that point. */
  synchronized void insert(int place, ThreadEvent.Change change) {
    List<Written> all = Written.list(lastBefore);
    all.add(place, new Written(null, change, null));
    lastBefore = Written.last(all);
    state = folded();
  }

  /** Notes where a call of a hook begins, which another one may have caused. */
  synchronized HookCall began(Hook hook, @Nullable HookCall outer) {
    return new HookCall(hook, outer, new Point(state, kept, lastWritten()));
  }

  /** Takes back what a hook that throws did; what others did meanwhile stays. */
  synchronized void failed(HookCall call, String reason) {
    requireOpen();
    if (alone(call)) {
      proceed(call.begin.state(), call.begin.lastWritten());
    } else {
      lastBefore = Written.without(lastBefore, call);
      lastAfter = Written.without(lastAfter, call);
      state = folded();
    }
    write(
        new ThreadEvent.HookFailed(call.hook.id(), call.hook.getClass().getSimpleName(), reason),
        call.outer);
  }

  /** Whether all that was recorded since a call of a hook began is part of it. */
  private boolean alone(HookCall call) {
    Written each = lastWritten();
    while (each != null && each != call.begin.lastWritten() && each.partOf(call)) {
      each = each.previous;
    }
    return kept == call.begin.kept() && each == call.begin.lastWritten();
  }

  // --- messages --------------------------------------------------------------------------------

  List<Message> history() {
    List<Message> all = whole;
    return all == null ? state().history().messages() : withOwn(all, 0);
  }

  /** The journaled messages with what this effect has done, oldest first. */
  private synchronized List<Message> withOwn(List<Message> journaled, int depth) {
    List<Message> all = new ArrayList<>(journaled);
    earlier.forEach(change -> apply(change, all, depth));
    changes(lastBefore).forEach(change -> apply(change, all, depth));
    keptMessages.stream().filter(message -> message.depth() <= depth).forEach(all::add);
    changes(lastAfter).forEach(change -> apply(change, all, depth));
    return all;
  }

  private static void apply(ThreadEvent.Change change, List<Message> all, int depth) {
    if (change instanceof ThreadEvent.Said said && said.message().depth() <= depth) {
      int place =
          said.before() == null
              ? -1
              : all.stream().map(Message::id).toList().indexOf(said.before());
      all.add(place < 0 ? all.size() : place, said.message());
    } else if (change instanceof ThreadEvent.Updated updated) {
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

package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fermata.agent.engine.SourceJournal;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.engine.ThreadRedecision;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.SourceResults;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.json.Texts;
import io.fermata.flow.replay.JournalEntry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Drives one thread without a host: it journals, folds and performs, one thing at a time, in this
 * thread. What it folds is what was read back from the journal's text.
 *
 * <p>An effect sees the thread as it was when the effect was first wanted, as it does on a host.
 * Nothing is performed before {@link #run} or {@link #perform}; a model's script or a tool may call
 * back into the conversation for what happens meanwhile.
 */
public final class Conversation {
  /** Reads and writes records as a journal does. */
  public static final ObjectMapper JOURNAL =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
          .build();

  private static final int MOST_EFFECTS = 5_000;

  private ThreadProgram program;
  private final Agent first;
  private final World world = new World(this);
  private final List<String> journal = new ArrayList<>();
  private final Map<String, ThreadState> inFlight = new HashMap<>();
  private final List<String> performed = new ArrayList<>();
  private final List<Cause> causes = new ArrayList<>();
  private @Nullable ThreadState seen;
  private ThreadState state = ThreadState.NONE;
  private Function<List<ThreadEffect>, ThreadEffect> order = effects -> effects.get(0);
  private Outcome.@Nullable Failure refusal;
  private long now = 1_000_000;

  /**
   * What a record came from.
   *
   * @param at when it was written
   * @param seen the thread as the effect saw it that has ended; null for other inputs
   * @param received what the model of the effect replied or threw; null if none was asked
   */
  public record Cause(
      long at, ThreadInput input, @Nullable ThreadState seen, @Nullable Object received) {}

  private Conversation(List<Agent> agents) {
    program = new ThreadProgram(new Agents(agents));
    first = agents.get(0);
  }

  private Conversation(Conversation source, int records) {
    program = source.program;
    first = source.first;
    journal.addAll(source.journal.subList(0, records));
    causes.addAll(source.causes.subList(0, records));
    state = folded(records);
    now = source.now + 1_000_000;
  }

  /** A thread of the first agent, which is yet to be created. */
  public static Conversation of(Agent... agents) {
    return new Conversation(List.of(agents));
  }

  /** A thread of the first agent, created. */
  public static Conversation with(Agent... agents) {
    return of(agents).create().run();
  }

  /** A thread that another one created for its call {@code s1.0}, as its {@code worker}. */
  public static Conversation child(Agent... agents) {
    return of(agents).create(new ThreadEvent.Parent("t0", "worker", "s1.0")).run();
  }

  // --- what comes in ---------------------------------------------------------------------------

  public Conversation create(Message... messages) {
    return create(null, messages);
  }

  public Conversation create(ThreadEvent.@Nullable Parent parent, Message... messages) {
    return accept(
        new ThreadInput.Create(
            "t1",
            first.name(),
            "ann",
            Set.of("new"),
            Map.of("lang", "en"),
            parent,
            List.of(messages),
            now));
  }

  public Conversation post(String text) {
    return post(null, Message.user(text));
  }

  public Conversation post(@Nullable String key, Message message, Attachment... attachments) {
    return accept(new ThreadInput.Post(key, message, List.of(attachments), now));
  }

  /** Posts, and lets the thread go on to where it rests. */
  public Conversation say(String text) {
    return post(text).run();
  }

  public Conversation stop() {
    return accept(new ThreadInput.Stop(now));
  }

  public Conversation proceed(@Nullable Side side) {
    return accept(new ThreadInput.Proceed(side, now));
  }

  public Conversation approve(String call) {
    return accept(new ThreadInput.Answer(call, null, "a1", true, null, null, "ann", now));
  }

  public Conversation deny(String call, @Nullable String reason) {
    return accept(new ThreadInput.Answer(call, null, "a1", false, null, reason, "ann", now));
  }

  public Conversation answer(String call, String answerId, JsonNode answers) {
    return accept(new ThreadInput.Answer(call, null, answerId, null, answers, null, "ann", now));
  }

  /** An answer to the question of this id alone. */
  public Conversation answer(String call, String question, String answerId, JsonNode answers) {
    return accept(
        new ThreadInput.Answer(call, question, answerId, null, answers, null, "ann", now));
  }

  public Conversation report(String child, long number, boolean failed, String text) {
    return accept(
        new ThreadInput.Report(child, number, failed, text, false, null, Usage.ZERO, now));
  }

  /** A child reports a result, and has more to do. */
  public Conversation reportAndGoOn(String child, long number, boolean failed, String text) {
    return accept(new ThreadInput.Report(child, number, failed, text, true, null, Usage.ZERO, now));
  }

  /** A child reports a result, and which of the calls it has taken up. */
  public Conversation reportOn(String child, long number, String call, String text) {
    return accept(new ThreadInput.Report(child, number, false, text, false, call, Usage.ZERO, now));
  }

  public Conversation delete() {
    return accept(new ThreadInput.Delete(now));
  }

  /** Takes an input in; a refusal is kept for {@link #refusal}. */
  public Conversation accept(ThreadInput input) {
    refusal = null;
    Program.Acceptance<ThreadState, ThreadEvent> acceptance = program.accept(state, input);
    if (acceptance instanceof Program.Accepted<ThreadState, ThreadEvent> accepted) {
      if (!accepted.events().isEmpty()) {
        boolean ended = input instanceof ThreadInput.EffectEnded;
        causes.add(new Cause(now, input, ended ? seen : null, ended ? world.received : null));
      }
      journal(accepted.events());
    } else {
      refusal = ((Program.Refused<ThreadState, ThreadEvent>) acceptance).failure();
    }
    track();
    return this;
  }

  private void journal(List<ThreadEvent> events) {
    now++;
    if (events.isEmpty()) {
      return;
    }
    try {
      String record =
          JOURNAL.writerFor(new TypeReference<List<ThreadEvent>>() {}).writeValueAsString(events);
      assertThat(record).as("without halves of surrogate pairs").isEqualTo(Texts.sound(record));
      journal.add(record);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
    ThreadState live = state.apply(events, journal.size());
    state = state.apply(record(journal.size()), journal.size());
    assertThat(state).as("what was read back").isEqualTo(live);
  }

  /** A fork behind a record, on a host of its own; null leaves the agent or posts no message. */
  public Conversation fork(
      int record, ForkOrigin.Mode mode, @Nullable String agent, @Nullable Message message) {
    Conversation fork = new Conversation(this, record);
    ThreadFork origin = new ThreadFork("t0", record, cause(record).at(), mode, "ops");
    SourceResults results =
        mode == ForkOrigin.Mode.REPLAY_EFFECTS
            ? SourceJournal.after(
                IntStream.rangeClosed(1, records()).mapToObj(this::record).toList(), record)
            : null;
    return fork.accept(
        new ThreadInput.Fork(origin, agent, Map.of("lang", "fr"), message, results, fork.now));
  }

  public Conversation replaying(int record) {
    return fork(record, ForkOrigin.Mode.REPLAY_EFFECTS, null, null);
  }

  public Conversation live(int record) {
    return fork(record, ForkOrigin.Mode.LIVE, null, null);
  }

  public Conversation sandbox(int record) {
    return fork(record, ForkOrigin.Mode.SANDBOX, null, null);
  }

  // --- what is done ----------------------------------------------------------------------------

  /** Which of the effects that are wanted is performed, or ends, next; the first unless chosen. */
  public Conversation order(Function<List<ThreadEffect>, ThreadEffect> chosen) {
    order = chosen;
    return this;
  }

  public Conversation lastFirst() {
    return order(effects -> effects.get(effects.size() - 1));
  }

  /** Performs effects until none is wanted that does not wait for its time. */
  public Conversation run() {
    return runUntil(effect -> false);
  }

  /** Performs effects until one of these is wanted, which is left. */
  public Conversation runUntil(Predicate<ThreadEffect> point) {
    for (int i = 0; i < MOST_EFFECTS; i++) {
      List<ThreadEffect> ready = ready();
      if (ready.isEmpty() || ready.stream().anyMatch(point)) {
        return listed();
      }
      step();
    }
    throw new AssertionError("The thread does not come to rest: " + lines());
  }

  /** What clients read back from the journal is the conversation. */
  private Conversation listed() {
    List<Message> latestFirst = new ArrayList<>(messages());
    Collections.reverse(latestFirst);
    assertThat(newestFirst(null, latestFirst.size(), 0)).isEqualTo(latestFirst);
    return this;
  }

  /** Performs the effect whose turn it is, and brings its end to the thread. */
  public Conversation step() {
    return perform(order.apply(ready()));
  }

  /** Performs an effect, and brings its end to the thread. */
  public Conversation perform(ThreadEffect effect) {
    return accept(new ThreadInput.EffectEnded(effect, outcome(effect), now));
  }

  /** Performs an effect, and keeps what it came to from the thread. */
  public ThreadInput.Result outcome(ThreadEffect effect) {
    ThreadState then = Objects.requireNonNull(inFlight.get(effect.key()), effect.key());
    performed.add(effect.key());
    seen = then;
    world.received = null;
    return program.perform(then, effect, world).toCompletableFuture().join();
  }

  /** Goes on to the first of these effects, performs it, and loses its end in a crash. */
  public Conversation crashDuring(Predicate<ThreadEffect> point) {
    runUntil(point);
    outcome(ready().stream().filter(point).findFirst().orElseThrow());
    return crash();
  }

  /** Loses everything but the journal, and reads that back. */
  public Conversation crash() {
    JsonNode before = JOURNAL.valueToTree(state);
    ThreadState back = folded(journal.size());
    JsonNode refolded = JOURNAL.valueToTree(back);
    JsonNode restored = JOURNAL.valueToTree(snapshot());
    assertThat(refolded).isEqualTo(before);
    assertThat(restored).isEqualTo(before);
    state = back;
    inFlight.clear();
    return accept(new ThreadInput.Recovered(now));
  }

  /** Requires that these agents decide all of it again as it was. */
  public void requireSame(Agent... agents) {
    NavigableMap<Long, List<ThreadEvent>> records = new TreeMap<>();
    for (int i = 1; i <= records(); i++) {
      records.put((long) i, record(i));
    }
    ThreadRedecision again =
        new ThreadRedecision(new Agents(List.of(agents)), EarlierEntries.of(records));
    for (int i = 1; i <= records(); i++) {
      assertThat(again.decide(i, cause(i).at(), record(i))).as("entry %d", i).isNull();
    }
  }

  /** Goes on with agents of another build. */
  public Conversation replace(Agent... agents) {
    program = new ThreadProgram(new Agents(List.of(agents)));
    return this;
  }

  /** The state as a snapshot would bring it back. */
  private ThreadState snapshot() {
    try {
      return JOURNAL.readValue(JOURNAL.writeValueAsString(state), ThreadState.class);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  /** Lets time pass, tells the thread of the moments that it waits for, and lets it go on. */
  public Conversation pass(Duration time) {
    now += time.toMillis();
    for (int i = 0; i < MOST_EFFECTS; i++) {
      List<ThreadEffect> due =
          wanted().stream()
              .filter(ThreadEffect::timer)
              .filter(effect -> Objects.requireNonNull(effect.due()) <= now)
              .toList();
      if (due.isEmpty()) {
        // The end of a thread that was deleted is known to its host.
        return state.deleted() ? this : run();
      }
      accept(new ThreadInput.EffectDue(due.get(0), now));
    }
    throw new AssertionError("A timer does not end");
  }

  /** What the thread wants done, timers included. */
  public List<ThreadEffect> wanted() {
    Program.Next<ThreadEffect> next = program.next(state);
    return next instanceof Program.Perform<ThreadEffect> perform
        ? perform.effects()
        : next instanceof Program.Pause<ThreadEffect> pause ? pause.timers() : List.of();
  }

  public List<ThreadEffect> ready() {
    return wanted().stream().filter(effect -> !effect.timer()).toList();
  }

  private void track() {
    List<ThreadEffect> wanted = ready();
    inFlight.keySet().retainAll(wanted.stream().map(ThreadEffect::key).toList());
    wanted.forEach(effect -> inFlight.putIfAbsent(effect.key(), state));
  }

  public static Predicate<ThreadEffect> kind(ThreadEffect.Kind kind) {
    return effect -> effect.kind() == kind;
  }

  // --- what is seen ----------------------------------------------------------------------------

  public ThreadState state() {
    return state;
  }

  public ThreadProgram program() {
    return program;
  }

  public World world() {
    return world;
  }

  public long now() {
    return now;
  }

  /** Why the last input was refused; null if it was not. */
  public Outcome.@Nullable Failure refusal() {
    return refusal;
  }

  /** The keys of the effects that were performed, in order. */
  List<String> performed() {
    return performed;
  }

  /** Why the thread rests; null if it does not. */
  public @Nullable String code() {
    return state.turn().code();
  }

  public int records() {
    return journal.size();
  }

  /** What a record of the journal came from, counted from 1. */
  public Cause cause(int number) {
    return causes.get(number - 1);
  }

  /** A record of the journal, counted from 1. */
  public List<ThreadEvent> record(int number) {
    try {
      return JOURNAL.readValue(journal.get(number - 1), new TypeReference<List<ThreadEvent>>() {});
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  public List<ThreadEvent> events() {
    List<ThreadEvent> all = new ArrayList<>();
    for (int i = 1; i <= journal.size(); i++) {
      all.addAll(record(i));
    }
    return all;
  }

  public <T extends ThreadEvent> List<T> events(Class<T> type) {
    return events().stream().filter(type::isInstance).map(type::cast).toList();
  }

  /** The state after the first so many records. */
  public ThreadState folded(int records) {
    ThreadState folded = ThreadState.NONE;
    for (int i = 1; i <= records; i++) {
      folded = folded.apply(record(i), i);
    }
    return folded;
  }

  /** The journal, each of whose entries Ann caused. */
  public ThreadJournal recorded() {
    List<JournalEntry<ThreadEvent>> entries = new ArrayList<>();
    for (int i = 1; i <= records(); i++) {
      entries.add(new JournalEntry<>(i, cause(i).at(), "caller", "ann", record(i)));
    }
    return new ThreadJournal("desk", "t1", entries);
  }

  /** The messages at top level that the state has at hand. */
  public List<Message> messages() {
    return state.history().messages();
  }

  public Message last() {
    return messages().get(messages().size() - 1);
  }

  /** The messages at top level, a line each: {@code user: hi}. */
  public List<String> lines() {
    return messages().stream().map(Conversation::line).toList();
  }

  public static String line(Message message) {
    String who =
        message.role() == Role.TOOL
            ? message.name() + (message.failed() ? " failed" : "")
            : message.role().name().toLowerCase(java.util.Locale.ROOT);
    String calls =
        message.toolCalls().stream().map(RequestedCall::name).collect(Collectors.joining(", "));
    return who
        + (message.silent() ? " (silent)" : "")
        + ":"
        + (message.content() == null ? "" : " " + message.content())
        + (calls.isEmpty() ? "" : " [" + calls + "]");
  }

  /** The messages at top level, as they would be if the state kept all of them. */
  public List<Message> everything() {
    ThreadState whole = ThreadState.NONE;
    for (int i = 1; i <= journal.size(); i++) {
      List<ThreadEvent> record = record(i);
      whole = whole.apply(record.stream().map(Conversation::withoutWindow).toList(), i);
    }
    return whole.history().messages();
  }

  private static ThreadEvent withoutWindow(ThreadEvent event) {
    int wide = 1_000_000;
    if (event instanceof ThreadEvent.Created c) {
      return new ThreadEvent.Created(
          c.threadId(), c.agent(), c.principal(), c.tags(), c.env(), c.parent(), wide, c.at());
    } else if (event instanceof ThreadEvent.HandedOver over) {
      return new ThreadEvent.HandedOver(over.agent(), wide);
    }
    return event instanceof ThreadEvent.Widened ? new ThreadEvent.Widened(wide) : event;
  }

  /** All messages of the journal, inside sub-prompts too, the oldest first. */
  public List<Message> allMessages() {
    List<Message> all = new ArrayList<>(newestFirst(null, Integer.MAX_VALUE, Bounds.DEPTH));
    Collections.reverse(all);
    return all;
  }

  /** The latest first, as a host reads them back. */
  List<Message> newestFirst(@Nullable String before, int limit, int depth) {
    HistoryReader rewind = new HistoryReader(before, limit, depth);
    read(rewind);
    return rewind.messages();
  }

  /** Reads the journal back until the reader has enough. */
  void read(HistoryReader rewind) {
    for (int i = journal.size(); i > 0 && !rewind.full(); i--) {
      rewind.take(record(i));
    }
  }
}

package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.Offered;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadSecrets;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Talks with an agent in a thread of its real session actor, on a host and a store of the test:
 * with kills, failing writes and virtual time, as {@link SessionProbe} has them for flows.
 *
 * <pre>{@code
 * try (AgentProbe probe = AgentProbe.of(desk)) {
 *   probe.crashEverywhere(script -> {
 *     script.say("Please refund B-1001.").asks("Pay 48 euros back");
 *     script.approve().says("on its way").rests("stop_on_response");
 *   });
 * }
 * }</pre>
 *
 * <p>Tools, hooks and models really run. A model of the test needs rules, not turns, where its
 * request may be repeated. Every entry and every state is read back as it is stored, and every call
 * and reply as it is sent between hosts; one that would be another then fails the test.
 */
public final class AgentProbe implements AutoCloseable {
  private static final Duration SETTLES = Duration.ofSeconds(30);

  /** How many lines of the thread's history a failure shows, and how long one may be. */
  private static final int LINES = 40;

  private static final int LONGEST = 300;

  /** The replies on behalf of a thread whose host is killed. */
  private static final Set<String> LOST =
      Set.of(HostError.STORE_UNAVAILABLE.wireName(), HostError.SHUTTING_DOWN.wireName());

  /** The outcome of a call: the thread, or why the call was refused. */
  private record Got(Threads.@Nullable View view, @Nullable ThreadException refused) {
    boolean lost() {
      return refused != null && LOST.contains(refused.code());
    }
  }

  private final List<Agent> agents;
  private final ProbedHost probed;
  private final List<String> history = new ArrayList<>();
  private final List<String> performed = new ArrayList<>();
  private final Set<String> keys = new HashSet<>();
  private @Nullable String twice;
  private @Nullable String threadId;
  private Threads.@Nullable View settled;
  private @Nullable ThreadException refused;
  private int threads;
  private int calls;

  /** How long an expectation waits for what happens by itself. */
  private Duration patience = Duration.ofSeconds(10);

  private AgentProbe(Store store, UnaryOperator<HostBuilder> more, List<Agent> agents) {
    this.agents = List.copyOf(agents);
    this.probed =
        new ProbedHost(
            store,
            more,
            life ->
                builder -> {
                  agents.forEach(each -> builder.agent(watched(life, each)));
                  return builder;
                },
            this::killed);
  }

  /** A host in memory. */
  public static AgentProbe of(Agent agent, Agent... others) {
    return of(Store.memory(), builder -> builder, agent, others);
  }

  /**
   * A host on a store.
   *
   * @param more configures the host each time it starts, such as with the flows that the agent
   *     calls
   * @param others the agents that it hands over to or puts to work
   */
  public static AgentProbe of(
      Store store, UnaryOperator<HostBuilder> more, Agent agent, Agent... others) {
    List<Agent> agents = new ArrayList<>(List.of(agent));
    agents.addAll(List.of(others));
    return new AgentProbe(store, more, agents);
  }

  private Agent watched(int life, Agent agent) {
    return agent.withPrompts(prompt -> prompt.withTools(tool -> watched(life, tool)));
  }

  private Offered watched(int life, Offered offered) {
    return offered instanceof Tool tool
        ? tool.wrapped(
            handler ->
                (flow, args) -> {
                  performing(life, tool.name(), flow);
                  return handler.run(flow, args);
                })
        : offered;
  }

  private synchronized void performing(int life, String tool, FlowState flow) {
    if (probed.over(life)) {
      throw new IllegalStateException("The test has killed this process");
    }
    String key = flow.idempotencyKey();
    performed.add("%s attempt %s".formatted(tool, flow.attempt()));
    int end = key.lastIndexOf('/');
    Long stored = probed.completed(key.substring(0, end), key.substring(end + 1));
    if (!keys.add(tool + " " + key) && stored != null) {
      twice = "%s was called again, although entry %s has its result.".formatted(tool, stored);
    }
  }

  private synchronized void killed() {
    history.add("✗ the host is killed and starts again");
    performed.add("✗ killed");
  }

  // --- the conversation -----------------------------------------------------------------------

  /** A person says something; the first message begins the thread. */
  public AgentProbe say(String text) {
    int number = ++calls;
    Threads.NewMessage message =
        new Threads.NewMessage(Message.user(text), List.of(), "message-" + number);
    return call(
        "say " + text, host -> begun(host).thenCompose(id -> host.post(Probe.TESTER, id, message)));
  }

  /** Approves the first open question. */
  public AgentProbe approve() {
    return answer("approve", true, null, null);
  }

  /** Denies the first open question. */
  public AgentProbe deny(String reason) {
    return answer("deny: " + reason, false, null, reason);
  }

  /** Answers the first open question of a flow, in pairs of a field and its value. */
  public AgentProbe answer(Object... pairs) {
    ObjectNode answers = Trees.of(pairs);
    return answer("answer " + Json.text(answers), null, answers, null);
  }

  private AgentProbe answer(
      String what,
      @Nullable Boolean approved,
      @Nullable JsonNode answers,
      @Nullable String reason) {
    List<Threads.Question> open = view().questions();
    check(!open.isEmpty(), "an open question");
    Threads.Question asked = open.get(0);
    Threads.Answer answer =
        new Threads.Answer(
            asked.call(), asked.id(), "answer-" + ++calls, approved, answers, reason);
    return call(what, host -> host.answer(Probe.TESTER, threadId(), answer));
  }

  /** Lets the agent rest at once. */
  public AgentProbe stop() {
    return call("stop", host -> host.stop(Probe.TESTER, threadId()));
  }

  private CompletionStage<String> begun(Threads host) {
    return threadId != null
        ? CompletableFuture.completedFuture(threadId)
        : host.create(
                new Threads.NewThread(
                    Probe.TESTER,
                    agents.get(0).name(),
                    "thread-" + threads,
                    Set.of(),
                    Map.of(),
                    List.of()))
            .thenApply(
                created -> {
                  threadId = created.threadId();
                  return created.threadId();
                });
  }

  private AgentProbe call(String what, Function<Threads, CompletionStage<?>> action) {
    history.add("» " + what);
    Got got =
        probed.call(
            () ->
                action
                    .apply(host().threads())
                    .thenCompose(
                        done -> host().threads().settled(Probe.TESTER, threadId(), SETTLES))
                    .handle(AgentProbe::got),
            Got::lost,
            what);
    settled = got.view();
    refused = got.refused();
    history.add("« " + described(got, 300));
    String damage = probed.faults.damage();
    return check(damage == null, "everything to be read as it was written. " + damage);
  }

  private static Got got(Threads.@Nullable View view, @Nullable Throwable thrown) {
    if (thrown == null) {
      return new Got(view, null);
    }
    ThreadException refused = RootCauses.find(thrown, ThreadException.class);
    if (refused == null) {
      throw new AssertionError("The host failed", thrown);
    }
    return new Got(null, refused);
  }

  private static String described(Got got, int longest) {
    ThreadException refused = got.refused();
    return refused == null
        ? described(Objects.requireNonNull(got.view()), longest)
        : "%s: %s".formatted(refused.code(), refused.getMessage());
  }

  private static String described(Threads.View view, int longest) {
    return switch (view.status()) {
      case WORKING -> "it works";
      case ASKING -> "it asks " + Texts.shortened(view.questions().toString(), longest);
      case RESTING ->
          view.code() == null && !view.waits().isEmpty()
              ? "it waits: " + Texts.shortened(view.waits().toString(), longest)
              : "it rests: " + view.code();
    };
  }

  // --- expectations ---------------------------------------------------------------------------

  /**
   * An open question contains this text; what comes by itself is waited for. What the last call
   * ended with is judged first, although the thread may have gone on since.
   */
  public AgentProbe asks(String part) {
    return expect(
        view ->
            view.questions().stream()
                .anyMatch(question -> question.question().toString().contains(part)),
        "the thread to ask about \"" + part + "\"");
  }

  /** The agent's last message contains this text; what comes by itself is waited for. */
  public AgentProbe says(String part) {
    String said = await(this::lastReply, reply -> reply.contains(part));
    return check(said.contains(part), "the agent to say \"" + part + "\"");
  }

  private String lastReply() {
    List<Message> said =
        journal().messages().stream()
            .filter(message -> message.role() == Role.ASSISTANT && !message.silent())
            .filter(message -> message.content() != null && !message.content().isBlank())
            .toList();
    return said.isEmpty() ? "" : String.valueOf(said.get(said.size() - 1).content());
  }

  /**
   * The thread rests, for this reason: a stop code; what comes by itself is waited for. What the
   * last call ended with is judged first, although the thread may have gone on since.
   */
  public AgentProbe rests(String code) {
    return expect(
        view -> view.status() == Threads.Status.RESTING && code.equals(view.code()),
        "the thread to rest: " + code);
  }

  private AgentProbe expect(Predicate<Threads.View> holds, String expected) {
    Threads.View before = settled;
    Threads.View view = before != null && holds.test(before) ? before : await(this::view, holds);
    return check(holds.test(view), expected + ", but " + described(view, 300));
  }

  /** The last call was refused with this code. */
  public AgentProbe fails(String code) {
    return check(refused != null && refused.code().equals(code), "the call to be refused: " + code);
  }

  /** The thread has stored this value. */
  public AgentProbe stores(String key, @Nullable Object value) {
    JsonNode stored = Json.tree(journal().state().stored().storage());
    return check(
        Trees.same(stored.path(key), value), "%s to be stored as %s".formatted(key, value));
  }

  private AgentProbe check(boolean holds, String expected) {
    if (!holds) {
      throw new AssertionError(story(expected));
    }
    return this;
  }

  /** What was expected, what the test did, and what happened in the thread, without secrets. */
  private String story(String expected) {
    String story = "Expected %s.\n  %s".formatted(expected, String.join("\n  ", history));
    ThreadJournal journal = recorded();
    if (journal == null) {
      return story;
    }
    ThreadSecrets hidden = ThreadSecrets.of(agents);
    journal.events().forEach(hidden::learn);
    List<String> lines = journal.narrative(agents).lines().toList();
    int skipped = Math.max(0, lines.size() - LINES);
    String more = skipped == 0 ? "" : "… %s more, then".formatted(skipped);
    return hidden.masked(story)
        + lines.stream()
            .skip(skipped)
            .map(line -> "\n    " + Texts.shortened(line, LONGEST))
            .collect(Collectors.joining("", "\n  in the thread " + more, ""));
  }

  /** The journal as it is in the store; null if there is none, or the store cannot be read. */
  private @Nullable ThreadJournal recorded() {
    try {
      return threadId == null ? null : journal();
    } catch (AssertionError | RuntimeException e) {
      return null;
    }
  }

  /** How long expectations wait that will not be met. */
  AgentProbe patience(Duration time) {
    patience = time;
    return this;
  }

  /** The first that holds; the last that was read if none does. */
  private <T> T await(Supplier<T> read, Predicate<T> holds) {
    long end = System.nanoTime() + patience.toNanos();
    try {
      T last = read.get();
      while (!holds.test(last) && System.nanoTime() < end) {
        Thread.sleep(10);
        last = read.get();
      }
      return last;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("The test was interrupted", e);
    }
  }

  // --- the store and the host -----------------------------------------------------------------

  /** The next write fails, and nothing is written. */
  public AgentProbe failNextWrite() {
    history.add("» the next write fails");
    probed.faults.failNextWrite(FaultyStore.Fault.FAILED);
    return this;
  }

  /** The store with its faults. */
  public FaultyStore store() {
    return probed.faults;
  }

  /** Kills the host and starts another one on the same store: only the journal is left. */
  public AgentProbe crash() {
    probed.crash();
    return outdated();
  }

  /** Closes the host and starts another one on the same store. */
  public AgentProbe restart() {
    if (probed.restart()) {
      history.add("» the host is closed and starts again");
    }
    return outdated();
  }

  /**
   * Time, including the timers of the actors, stops until {@link #passTime}. Only while a call
   * waits and nothing is running does time advance by itself.
   *
   * @throws IllegalStateException if the host has started already, as it does with the first call
   */
  public AgentProbe manualTime() {
    probed.manualTime();
    return this;
  }

  /** Sets the host's clock forward; with manual time its timers too. */
  public AgentProbe passTime(Duration time) {
    history.add("» " + time + " pass");
    probed.advance(time);
    return outdated();
  }

  /**
   * Runs a script once without a disturbance, and then twice for each write of its thread, and of
   * the threads and runs that it begins: once the host is killed before the write, once after it
   * and before any reply. Each time another host starts on the same store, and the call that got no
   * reply is repeated under its key.
   *
   * <p>Each of these runs must pass the expectations of the script and end as the undisturbed one:
   * with the same conversation, the same stored values and the same status. No tool may be called
   * again after its result was stored.
   *
   * @throws AssertionError with the crash after which it was otherwise
   */
  public AgentProbe crashEverywhere(Consumer<AgentProbe> script) {
    probed.crashEverywhere(point -> run(script, point), this::performed);
    return this;
  }

  /** What the last call ended with is no longer so. */
  private AgentProbe outdated() {
    settled = null;
    refused = null;
    return this;
  }

  private ProbedHost.Ending run(Consumer<AgentProbe> script, CrashPoint point) {
    threads++;
    threadId = null;
    outdated();
    forget();
    script.accept(this);
    probed.recover();
    String again = twice();
    if (again != null) {
      throw new AssertionError(again);
    }
    Threads.View view = view();
    ThreadStorage stored = journal().state().stored();
    String end =
        "%s, stored %s, env %s, tags %s, and this was said:\n%s"
            .formatted(
                described(view, Integer.MAX_VALUE),
                stored.storage(),
                stored.env(),
                stored.tags(),
                journal().transcriptWithSecrets());
    String same = point.unnamed(end);
    return new ProbedHost.Ending(same, same);
  }

  private synchronized void forget() {
    history.clear();
    performed.clear();
    keys.clear();
    twice = null;
  }

  private synchronized @Nullable String twice() {
    return twice;
  }

  private synchronized String performed() {
    String log = performed.isEmpty() ? "none" : String.join(", ", performed);
    String hint =
        log.contains("✗")
            ? "\nA call whose result was not stored before the kill is made again, with the same"
                + " idempotency key. Let the tool do its work once for each key, or declare it once()."
            : "";
    return "\n  calls        " + log + hint;
  }

  // --- what it sees ---------------------------------------------------------------------------

  /** The thread as it is now. */
  public Threads.View view() {
    Got current =
        probed.call(
            () -> host().threads().get(Probe.TESTER, threadId()).handle(AgentProbe::got),
            Got::lost,
            "get");
    check(current.view() != null, "the thread to be there, but " + described(current, 300));
    return Objects.requireNonNull(current.view());
  }

  public String threadId() {
    if (threadId == null) {
      throw new AssertionError("There is no thread yet; begin with say(…)");
    }
    return threadId;
  }

  /** The journal of the thread, which a test can decide again or keep. */
  public ThreadJournal journal() {
    return probed.call(
        () -> host().journals().thread(threadId()).readWithSecrets(),
        journal -> false,
        "the journal");
  }

  /** The host itself, for what this probe has no method for. */
  public Fermata host() {
    return probed.host();
  }

  @Override
  public void close() {
    probed.close();
  }
}

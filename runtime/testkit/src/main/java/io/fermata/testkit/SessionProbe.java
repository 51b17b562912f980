package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import io.fermata.session.observe.StepInterceptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Drives a flow through its real session actor, with everything above and below it: the host that
 * delivers its calls and wakes it, its journal plugin, and a store. By the methods of {@link
 * Probe}, and those with which a test takes the parts away from each other.
 *
 * <pre>{@code
 * try (SessionProbe probe = SessionProbe.of(quote)) {
 *   probe.start("wants a price").asks("name", "email");
 *   probe.failNextWrite().answer("name", "Ann").fails("store_unavailable");
 *   probe.crash().answer("name", "Ann").asks("email");
 * }
 * }</pre>
 *
 * <p>Every entry and every state is read back as it is stored, and every call and reply as it is
 * sent between hosts; one that would be another then fails the test. Secret fields are encrypted
 * with the keys of the environment, else with one of the probe. Time is real, except that {@link
 * #passTime} sets the host's clock forward, which decides about expiry; with {@link #manualTime}
 * timers follow that clock, too.
 */
public final class SessionProbe extends Probe<SessionProbe> implements AutoCloseable {
  private static final String CALL_ID = "fermata/callId";

  /** The replies on behalf of a session whose host is killed. */
  private static final Set<String> LOST =
      Set.of(HostError.STORE_UNAVAILABLE.wireName(), HostError.SHUTTING_DOWN.wireName());

  private final String flow;
  private final Flow<?> tested;
  private final ProbedHost probed;

  /** Names its calls among those of all probes on its store. */
  private final String client = UUID.randomUUID().toString();

  private final List<String> history = new ArrayList<>();
  private final List<String> visits = new ArrayList<>();
  private String principal = TESTER;
  private ObjectNode meta = Json.object();
  private @Nullable String handle;
  private @Nullable ToolReply reply;
  private @Nullable String runId;
  private @Nullable IntFunction<ToolReply> last;
  private int calls;

  /** Makes the names that the client chooses those of one run of a script. */
  private String ofRun = "";

  private int runs;
  private volatile @Nullable String twice;
  private volatile @Nullable Throwable thrown;
  private Input.@Nullable Resolution unknown;

  private SessionProbe(Flow<?> flow, Store store, UnaryOperator<HostBuilder> more) {
    super(new Steps(flow), new Secrets());
    this.flow = flow.id();
    this.tested = flow;
    this.probed =
        new ProbedHost(
            store,
            builder -> more.apply(builder.flow(flow)),
            life -> builder -> builder.steps(interceptor(life)),
            this::killed);
  }

  /** A host in memory, with placeholders for the display tools that the flow needs. */
  public static SessionProbe of(Flow<?> flow) {
    return of(flow, Store.memory());
  }

  /** A host on a store, with placeholders for the display tools that the flow needs. */
  public static SessionProbe of(Flow<?> flow, Store store) {
    return of(flow, store, builder -> withDisplays(flow, builder));
  }

  /**
   * A host on a store, with display tools, settings and further flows of your choice.
   *
   * @param more configures the host each time it starts
   */
  public static SessionProbe of(Flow<?> flow, Store store, UnaryOperator<HostBuilder> more) {
    return new SessionProbe(flow, store, more);
  }

  /**
   * A host in memory that has a recorded run in its store and continues it: steps that were running
   * are attempted again. The run gets an id of this store, and time continues where the journal
   * ends.
   *
   * @throws IllegalArgumentException if the run has ended
   */
  public static SessionProbe from(Flow<?> flow, RunJournal recorded) {
    Store store = Store.memory();
    SessionProbe probe = of(flow, store);
    probe.hides(flow, recorded);
    RecordedSession session = RecordedSession.of(recorded);
    probe.principal = session.principal();
    probe.handle = session.store(store);
    probe.probed.beginAt(session.end());
    return probe;
  }

  private static HostBuilder withDisplays(Flow<?> flow, HostBuilder builder) {
    flow.displayTools()
        .forEach(name -> builder.display(DisplayTool.of(name, name, name, "<p>" + name)));
    return builder;
  }

  /**
   * Time, including the timers of the actors, stops until {@link #passTime}. Only while a call
   * waits for its reply and nothing is running does time advance by itself, if necessary until the
   * call's deadline, so that the call returns {@code still_working}.
   *
   * @throws IllegalStateException if the host has started already, as it does with the first call
   */
  public SessionProbe manualTime() {
    probed.manualTime();
    return this;
  }

  private StepInterceptor interceptor(int life) {
    return new StepInterceptor() {
      @Override
      public CompletionStage<Input.Result> perform(
          RunState run, StepEffect effect, Supplier<CompletionStage<Input.Result>> performing) {
        return SessionProbe.this.perform(life, run, effect, performing);
      }

      @Override
      public void threw(Throwable failure) {
        thrown = failure;
      }

      @Override
      public void refused(IllegalStateException refusal) {
        steps.refused(refusal);
      }
    };
  }

  // --- the store ------------------------------------------------------------------------------

  /** The next write fails, and nothing is written: its call fails with store_unavailable. */
  public SessionProbe failNextWrite() {
    return fault("the next write fails", FaultyStore.Fault.FAILED);
  }

  /** The store does not accept the next entry, although it works. */
  public SessionProbe rejectNextWrite() {
    return fault("the next write is rejected", FaultyStore.Fault.REJECTED);
  }

  /** The next entry is written, and the connection breaks before the host knows it. */
  public SessionProbe loseNextReply() {
    return fault("the reply to the next write is lost", FaultyStore.Fault.REPLY_LOST);
  }

  private SessionProbe fault(String what, FaultyStore.Fault fault) {
    history.add("» " + what);
    probed.faults.failNextWrite(fault);
    return this;
  }

  /** Writes stall until {@link #releaseWrites}. */
  public SessionProbe holdWrites() {
    history.add("» writes stall");
    probed.faults.holdWrites();
    return this;
  }

  public SessionProbe releaseWrites() {
    history.add("» writes continue");
    probed.faults.releaseWrites();
    return this;
  }

  /** The store cannot be reached until {@link #reconnect}. */
  public SessionProbe disconnect() {
    history.add("» the store is disconnected");
    probed.faults.disconnect();
    return this;
  }

  public SessionProbe reconnect() {
    history.add("» the store is connected");
    probed.faults.reconnect();
    return this;
  }

  /** The store with its faults, for those that this probe has no method for. */
  public FaultyStore store() {
    return probed.faults;
  }

  // --- crashes --------------------------------------------------------------------------------

  /**
   * Kills the host and starts another one on the same store: only the journal is left. What the run
   * does then is seen by the next call, such as {@link #again} or {@link #status}.
   */
  public SessionProbe crash() {
    probed.crash();
    return outdated();
  }

  /**
   * What a person decides where the outcome of a step that is declared {@code once} is unknown
   * after a crash. Without it the call fails with {@code outcome_unknown}.
   */
  public SessionProbe whenUnknown(Input.Resolution resolution) {
    unknown = resolution;
    return this;
  }

  /**
   * Runs a script once without a disturbance, and then twice for each write of its sessions: once
   * the host is killed before the write, once after it and before any reply. Each time another host
   * starts on the same store, and the client repeats the call that got no reply, under its name.
   * Each run has sessions of its own, also if {@link #meta} names one. After a kill before a write
   * sessions recover from their latest snapshot, after one behind it from their entries alone.
   *
   * <p>Each of these runs must pass the expectations of the script and end as the undisturbed one:
   * with the same reply, and with the same state if it has not ended. No action may be performed
   * after its result was stored.
   *
   * @param script begins with {@code start(…)}
   * @throws AssertionError with the crash after which it was otherwise; or if there was none,
   *     because the script begins no session
   */
  public SessionProbe crashEverywhere(Consumer<SessionProbe> script) {
    probed.crashEverywhere(point -> run(script), this::performed);
    return this;
  }

  private ProbedHost.Ending run(Consumer<SessionProbe> script) {
    beginsAgain();
    history.clear();
    visits.clear();
    handle = null;
    runId = null;
    reply = null;
    twice = null;
    ofRun = "/" + client + "/" + ++runs;
    script.accept(this);
    probed.recover();
    String again = twice;
    if (again != null) {
      throw new AssertionError(again);
    }
    ObjectNode body = reply().structured();
    ObjectNode data = data();
    String state = data == null ? "" : ", state " + data;
    return new ProbedHost.Ending(
        unnamed(Story.of(body) + Texts.shortened(state, 400)), unnamed(timeless(body) + state));
  }

  /** A reply without the moments that differ from run to run. */
  private static ObjectNode timeless(ObjectNode body) {
    ObjectNode timeless = body.deepCopy();
    timeless.remove("run");
    return timeless.has("waitsFor") ? timeless.without(List.of("until", "description")) : timeless;
  }

  private String unnamed(String end) {
    // A refusal names the session, but no run.
    String runId = reply().meta().path("fermata/run").path("runId").asText();
    String nameless = (runId.isEmpty() ? end : end.replace(runId, "<run>")).replace(ofRun, "");
    return handle == null ? nameless : nameless.replace(handle, "<session>");
  }

  private String performed() {
    String log = steps.log();
    String hint =
        log.contains("✗")
            ? "\n"
                + "A step whose result was not stored before the kill is attempted again, with"
                + " the same idempotency key. Let it do its work once for each key; or declare it"
                + " once(), and say what a person decides with whenUnknown(…)."
            : "";
    return "\n  steps        " + log + hint;
  }

  private void killed() {
    history.add("✗ the host is killed and starts again");
    steps.killed();
  }

  // --- steps ----------------------------------------------------------------------------------

  private CompletionStage<Input.Result> perform(
      int life,
      RunState run,
      StepEffect effect,
      Supplier<CompletionStage<Input.Result>> performing) {
    if (probed.over(life)) {
      return new CompletableFuture<>();
    }
    Steps.Fate fate = steps.ask(run, effect);
    Long stored = probed.completed(effect.runId(), effect.place());
    if (stored != null && effect.kind() != StepEffect.Kind.REMIND) {
      twice =
          "%s was performed again, although entry %s has its result."
              .formatted(effect.place().node(), stored);
    }
    return switch (fate) {
      case FAIL -> CompletableFuture.completedStage(Steps.planned(effect));
      case HANG -> new CompletableFuture<>();
      case RUN -> counted(run, effect, performing);
      case CRASH ->
          counted(run, effect, performing)
              .thenCompose(
                  done -> {
                    if (!probed.over(life)) {
                      probed.faults.kill();
                    }
                    return new CompletableFuture<>();
                  });
    };
  }

  /** Performs an effect that manual time waits for. */
  private CompletionStage<Input.Result> counted(
      RunState run, StepEffect effect, Supplier<CompletionStage<Input.Result>> performing) {
    return probed.counted(
        () ->
            steps
                .perform(run, effect, performing)
                .whenComplete(
                    (result, failure) ->
                        thrown = result instanceof Input.Failed failed ? failed.thrown() : thrown));
  }

  // --- calls ----------------------------------------------------------------------------------

  @Override
  public SessionProbe start(String intent, Object... said) {
    Objects.requireNonNull(intent, "intent");
    handle = null;
    ObjectNode arguments = arguments("start", said).put("intent", intent);
    return call(startCall(intent, said), arguments);
  }

  @Override
  public SessionProbe answer(Object... answers) {
    return call(call("answer", answers), arguments("continue", answers));
  }

  @Override
  public SessionProbe again() {
    return call("again", arguments("continue"));
  }

  @Override
  public SessionProbe reset(Object... corrections) {
    return call(call("reset", corrections), arguments("reset", corrections));
  }

  @Override
  public SessionProbe cancel() {
    return call("cancel", arguments("cancel"));
  }

  @Override
  public SessionProbe signal(String name, @Nullable Object payload) {
    String run = runId;
    if (run == null) {
      throw new AssertionError("There is no run yet; begin with start(…)");
    }
    return call(
        "signal " + name + " " + Trees.text(payload),
        number ->
            probed.call(
                () -> host().signal(flow, run, name, payload, "signal-" + number),
                got -> LOST.contains(code(got)),
                name),
        ++calls);
  }

  /** Asks for the status of the run; changes nothing. */
  public SessionProbe status() {
    return call("status", arguments("status"));
  }

  /** Sends the last call again under its name, as a client does that got no reply. */
  public SessionProbe repeat() {
    IntFunction<ToolReply> again = last;
    if (again == null) {
      throw new AssertionError("Nothing was called yet; begin with start(…)");
    }
    return call("the same again", again, calls);
  }

  /** The calls that follow come from this principal. */
  public SessionProbe as(String caller) {
    principal = caller;
    return this;
  }

  /** The calls that follow carry this value in their {@code _meta}; null removes it. */
  public SessionProbe meta(String key, @Nullable Object value) {
    meta = meta.deepCopy();
    if (value == null) {
      meta.remove(key);
    } else {
      meta.set(key, Json.tree(value));
    }
    return this;
  }

  /** The calls that follow belong to the session with this handle. */
  public SessionProbe resume(String session) {
    handle = session;
    return this;
  }

  /**
   * Closes the host and starts another one on the same store; the next call sees what the run does.
   */
  public SessionProbe restart() {
    if (probed.restart()) {
      history.add("» the host is closed and starts again");
    }
    return outdated();
  }

  /**
   * Sets the host's clock forward; with manual time its timers too. The next call sees what the run
   * does. Waits that follow each other end within it, each a few seconds late.
   */
  public SessionProbe passTime(Duration time) {
    history.add("» " + time + " pass");
    probed.advance(time);
    return outdated();
  }

  /** The session handle that the replies carry. */
  public String handle() {
    if (handle == null) {
      throw new AssertionError("No reply has carried a sessionId yet; begin with start(…)");
    }
    return handle;
  }

  /** The last reply, as the client got it. */
  public ToolReply reply() {
    if (reply == null) {
      throw new AssertionError("Nothing was called yet; begin with start(…)");
    }
    return reply;
  }

  /** The host itself, for what this probe has no method for. */
  public Fermata host() {
    return probed.host();
  }

  @Override
  public void close() {
    probed.close();
  }

  // --- for the shared methods ------------------------------------------------------------------

  @Override
  SessionProbe self() {
    return this;
  }

  @Override
  @Nullable ObjectNode data() {
    if (reply == null || (handle == null && meta.isEmpty())) {
      return null;
    }
    ToolReply status = send(arguments("status"), null);
    JsonNode state = status.structured().path("run").path("state");
    if (state instanceof ObjectNode && !tested.secretFields().isEmpty()) {
      RunJournal journal = journal(status.meta().at("/fermata~1run/runId").asText());
      if (journal != null) {
        hides(tested, journal);
        state = journal.state().data();
      }
    }
    return state instanceof ObjectNode object ? object : null;
  }

  /** The journal of a run; null if the store cannot be read. */
  private @Nullable RunJournal journal(String run) {
    return probed
        .call(
            () ->
                host()
                    .journals()
                    .run(flow, run)
                    .readWithSecrets()
                    .handle((read, failure) -> Optional.ofNullable(read)),
            read -> false,
            "the journal")
        .orElse(null);
  }

  @Override
  List<String> visits() {
    return visits;
  }

  @Override
  List<String> history() {
    return history;
  }

  @Override
  @Nullable Throwable thrown() {
    return thrown;
  }

  private static ObjectNode arguments(String action, Object... updates) {
    ObjectNode arguments = Json.object().put("action", action);
    if (updates.length > 0) {
      arguments.set("stateUpdates", Trees.of(updates));
    }
    return arguments;
  }

  private SessionProbe call(String what, ObjectNode arguments) {
    return call(what, number -> send(arguments, "call-" + number), ++calls);
  }

  /**
   * @param sending sends the call of a number
   */
  private SessionProbe call(String what, IntFunction<ToolReply> sending, int number) {
    thrown = null;
    last = sending;
    history.add("» " + what);
    ToolReply next = sending.apply(number);
    if (unknown != null && code(next).equals(ErrorCode.OUTCOME_UNKNOWN.wireName())) {
      history.add("» the outcome of the step is resolved with " + unknown);
      next = send(arguments("continue"), "resolution-" + number);
    }
    reply = next;
    JsonNode session = next.structured().path("sessionId");
    handle = session.isTextual() ? session.textValue() : handle;
    JsonNode run = next.meta().path("fermata/run").path("runId");
    runId = run.isTextual() ? run.textValue() : runId;
    visits.clear();
    next.meta()
        .path("fermata/run")
        .path("nodesVisited")
        .forEach(visit -> visits.add(visit.path("id").asText()));
    history.add("« " + Texts.shortened(next.structured().toString(), 300));
    called(what, next.structured());
    String damage = probed.faults.damage();
    return check(damage == null, "everything to be read as it was written. " + damage);
  }

  /** The {@code _meta} of a call; a run of a script has names of its own for sessions and calls. */
  private ObjectNode named() {
    ObjectNode others = FlowCall.withoutConversation(meta);
    others.remove(CALL_ID);
    ObjectNode named = meta.deepCopy();
    for (Map.Entry<String, JsonNode> each : meta.properties()) {
      String name = each.getValue().asText();
      if (!others.has(each.getKey()) && each.getValue().isTextual() && !name.isEmpty()) {
        named.put(each.getKey(), name + ofRun);
      }
    }
    return named;
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  /**
   * Sends a call, and again to the next host if this one is killed before its reply.
   *
   * @param name the name of the call; null if it changes nothing
   */
  private ToolReply send(ObjectNode arguments, @Nullable String name) {
    if (handle != null) {
      arguments.put("sessionId", handle);
    }
    ObjectNode named = named();
    if (name != null && !named.has(CALL_ID)) {
      named.put(CALL_ID, client + "/" + name);
    }
    if (name != null && name.startsWith("resolution")) {
      named.put("fermata/resolve", String.valueOf(unknown).toLowerCase(Locale.ROOT));
    }
    ToolCall call = new ToolCall(flow, principal, arguments, named, null);
    return probed.call(() -> host().call(call), got -> LOST.contains(code(got)), arguments);
  }
}

package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.jspecify.annotations.Nullable;

/**
 * Drives a flow through a real host, with its session actors and its store, by the methods of
 * {@link Probe}.
 *
 * <pre>{@code
 * try (HostProbe host = HostProbe.of(quote)) {
 *   String handle = host.start("wants a price").asks("name", "email").handle();
 *   host.restart().resume(handle).again().asks("name", "email");
 * }
 * }</pre>
 *
 * <p>The outcome of a call is read from the reply that a client gets. Time is real, except that
 * {@link #passTime} sets the host's clock forward, which decides about expiry.
 */
public final class HostProbe extends Probe<HostProbe> implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(40);
  private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");

  /**
   * With manual time: how long a call may run in real time before the clock advances, and by how
   * much.
   */
  private static final Duration REAL_PAUSE = Duration.ofMillis(20);

  private static final Duration STEP = Duration.ofMillis(250);

  private final String flow;
  private final UnaryOperator<HostBuilder> setup;
  private final List<String> history = new ArrayList<>();
  private final List<String> visits = new ArrayList<>();
  private Fermata host;
  private String principal = "tester";
  private ObjectNode meta = Json.object();
  private @Nullable String handle;
  private @Nullable ToolReply reply;
  private final boolean manualTime;
  private volatile Duration passed = Duration.ZERO;

  private HostProbe(
      Flow<?> flow, Store store, boolean manualTime, UnaryOperator<HostBuilder> more) {
    this.flow = flow.id();
    this.manualTime = manualTime;
    this.setup =
        builder ->
            more.apply(
                builder.store(store).flow(flow).clock(this::now).monotonicClock(this::nanos));
    this.host = open();
  }

  private long nanos() {
    return (manualTime ? 0 : System.nanoTime()) + passed.toNanos();
  }

  private Instant now() {
    return (manualTime ? BEGINNING : Instant.now()).plus(passed);
  }

  /** A host in memory, with placeholders for the display tools that the flow needs. */
  public static HostProbe of(Flow<?> flow) {
    return of(flow, Store.memory());
  }

  /** A host on a store, with placeholders for the display tools that the flow needs. */
  public static HostProbe of(Flow<?> flow, Store store) {
    return of(flow, store, builder -> withDisplays(flow, builder));
  }

  /**
   * A host in memory whose time, including its timers, stops until {@link #passTime}. Only while a
   * call waits for its reply does time advance by itself, if necessary until the call's deadline,
   * so that the call returns {@code still_working}.
   */
  public static HostProbe manualTime(Flow<?> flow) {
    return new HostProbe(
        flow,
        Store.memory(),
        true,
        builder -> withDisplays(flow, builder).config(ManualTime.config()));
  }

  private static HostBuilder withDisplays(Flow<?> flow, HostBuilder builder) {
    flow.displayTools()
        .forEach(name -> builder.display(DisplayTool.of(name, name, name, "<p>" + name)));
    return builder;
  }

  /**
   * A host on a store, with display tools, settings and further flows of your choice.
   *
   * @param more configures the host each time it starts
   */
  public static HostProbe of(Flow<?> flow, Store store, UnaryOperator<HostBuilder> more) {
    return new HostProbe(flow, store, false, more);
  }

  private Fermata open() {
    return setup.apply(Fermata.host()).start();
  }

  // --- calls ----------------------------------------------------------------------------------

  @Override
  public HostProbe start(String intent, Object... said) {
    handle = null;
    ObjectNode arguments = arguments("start", said).put("intent", intent);
    return call(startCall(intent, said), arguments);
  }

  @Override
  public HostProbe answer(Object... answers) {
    return call(call("answer", answers), arguments("continue", answers));
  }

  @Override
  public HostProbe again() {
    return call("again", arguments("continue"));
  }

  @Override
  public HostProbe reset(Object... corrections) {
    return call(call("reset", corrections), arguments("reset", corrections));
  }

  @Override
  public HostProbe cancel() {
    return call("cancel", arguments("cancel"));
  }

  /** Asks for the status of the run; changes nothing. */
  public HostProbe status() {
    return call("status", arguments("status"));
  }

  /** The calls that follow come from this principal. */
  public HostProbe as(String caller) {
    principal = caller;
    return this;
  }

  /** The calls that follow carry this value in their {@code _meta}; null removes it. */
  public HostProbe meta(String key, @Nullable Object value) {
    meta = meta.deepCopy();
    if (value == null) {
      meta.remove(key);
    } else {
      meta.set(key, Json.tree(value));
    }
    return this;
  }

  /** The calls that follow belong to the session with this handle. */
  public HostProbe resume(String session) {
    handle = session;
    return this;
  }

  /** Closes the host and starts another one on the same store. */
  public HostProbe restart() {
    history.add("» the host is closed and starts again");
    host.close();
    host = open();
    return this;
  }

  /** Sets the host's clock forward; with manual time its timers too. */
  public HostProbe passTime(Duration time) {
    history.add("» " + time + " pass");
    advance(time);
    return this;
  }

  private void advance(Duration time) {
    passed = passed.plus(time);
    if (manualTime) {
      ManualTime.get(host.system()).timePasses(time);
    }
  }

  private void passTimeUntil(CompletableFuture<?> reply) throws InterruptedException {
    for (Duration left = TIMEOUT; !reply.isDone() && !left.isNegative(); left = left.minus(STEP)) {
      Thread.sleep(REAL_PAUSE.toMillis());
      if (!reply.isDone()) {
        advance(STEP);
      }
    }
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
    return host;
  }

  @Override
  public void close() {
    host.close();
  }

  // --- for the shared methods ------------------------------------------------------------------

  @Override
  HostProbe self() {
    return this;
  }

  @Override
  ObjectNode data() {
    if (reply == null || (handle == null && meta.isEmpty())) {
      return Json.object();
    }
    JsonNode state = send(arguments("status")).structured().path("run").path("state");
    return state instanceof ObjectNode object ? object : Json.object();
  }

  @Override
  List<String> visits() {
    return visits;
  }

  @Override
  List<String> history() {
    return history;
  }

  /** The host logs it. */
  @Override
  @Nullable Throwable thrown() {
    return null;
  }

  @Override
  boolean cancelled() {
    return reply != null && reply.structured().path("cancelled").asBoolean();
  }

  private static ObjectNode arguments(String action, Object... updates) {
    ObjectNode arguments = Json.object().put("action", action);
    if (updates.length > 0) {
      arguments.set("stateUpdates", Trees.of(updates));
    }
    return arguments;
  }

  private HostProbe call(String what, ObjectNode arguments) {
    ToolReply next = send(arguments);
    reply = next;
    JsonNode session = next.structured().path("sessionId");
    handle = session.isTextual() ? session.textValue() : handle;
    visits.clear();
    next.meta()
        .path("fermata/run")
        .path("nodesVisited")
        .forEach(visit -> visits.add(visit.path("id").asText()));
    history.add("» " + what);
    history.add("« " + Trees.shortened(next.structured().toString(), 300));
    return called(what, outcome(next.structured()));
  }

  private ToolReply send(ObjectNode arguments) {
    if (handle != null) {
      arguments.put("sessionId", handle);
    }
    ToolCall call = new ToolCall(flow, principal, arguments, meta, null);
    try {
      CompletableFuture<ToolReply> next = host.call(call).toCompletableFuture();
      if (manualTime) {
        passTimeUntil(next);
      }
      return next.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError("The host did not answer within " + TIMEOUT + ": " + arguments, e);
    } catch (ExecutionException e) {
      throw new AssertionError("The call failed without a reply: " + arguments, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("The test was interrupted in " + arguments, e);
    }
  }

  // --- replies as outcomes --------------------------------------------------------------------

  private static Outcome outcome(ObjectNode body) {
    return switch (body.path("status").asText()) {
      case "interrupt", "widget" -> pause(body);
      case "complete" -> new Outcome.Complete(body.get("result"));
      case "waiting" -> {
        String until = text(body, "until");
        yield new Outcome.Waiting(
            body.path("waitsFor").asText(),
            until == null ? null : Instant.parse(until).toEpochMilli(),
            body.path("description").asText());
      }
      default -> failure(body);
    };
  }

  private static Outcome pause(ObjectNode body) {
    if (body.has("tool")) {
      return new Outcome.ShowWidget(
          new Event.Widget(
              body.path("tool").asText(),
              body.get("data"),
              body.path("interactive").asBoolean(),
              body.has("fieldSchema") ? text(body, "field") : null,
              body.get("fieldSchema")));
    }
    List<Event.Question> questions = new ArrayList<>();
    if (body.has("questions")) {
      body.path("questions").forEach(question -> questions.add(question(question)));
    } else {
      questions.add(question(body));
    }
    return new Outcome.Interrupt(questions, text(body, "context"));
  }

  private static Event.Question question(JsonNode body) {
    List<String> suggestions = new ArrayList<>();
    body.path("suggestions").forEach(suggestion -> suggestions.add(suggestion.asText()));
    return new Event.Question(
        body.path("field").asText(),
        body.path("question").asText(),
        body.get("fieldSchema"),
        suggestions,
        text(body, "context"),
        body.path("optional").asBoolean());
  }

  private static Outcome failure(ObjectNode body) {
    List<Violation> violations = new ArrayList<>();
    body.path("violations")
        .forEach(
            v ->
                violations.add(
                    new Violation(v.path("field").asText(), v.path("message").asText())));
    boolean open = body.has("question") || body.has("questions") || body.has("tool");
    return new Outcome.Failure(
        body.path("code").asText(),
        body.path("error").asText(),
        text(body, "field"),
        violations,
        open ? pause(body) : null);
  }

  private static @Nullable String text(JsonNode body, String name) {
    return body.path(name).isTextual() ? body.path(name).textValue() : null;
  }
}

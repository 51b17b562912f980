package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.persistence.Store;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.telemetry.Meters;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Requests about threads and runs while the store is away. */
@Timeout(60)
class StoreAwayTest {
  record Order(String item) {}

  private static final Flow<Order> ORDER =
      Flow.of("order", Order.class)
          .description("Takes an order.")
          .ask("ask_item", q -> q.question("item", "What?"))
          .edge(Flow.START, "ask_item")
          .edge("ask_item", Flow.END)
          .compile();

  private static final Agent DESK =
      Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Hello")).text("Be brief."));

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  @Test
  void whatCannotBeReadForAWhileIsATemporaryError() throws Exception {
    AtomicBoolean away = new AtomicBoolean();
    Store store =
        AlteredStore.of(
            Store.memory(),
            request -> away.get() && request.isAsync() ? AlteredStore.away() : request.ask());
    try (Fermata host = Fermata.host().store(store).flow(ORDER).agent(DESK).start();
        McpServer server =
            McpServer.serving(host)
                .threads(host.threads())
                .runs(host.runs())
                .operators("local")
                .port(0)
                .start()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "tea");
      ObjectNode meta = Json.object().put("fermata/sessionId", "chat-1");
      String run =
          now(host.call(new ToolCall("order", "local", start, meta, null)))
              .meta()
              .at("/fermata~1run/runId")
              .asText();
      String thread =
          now(host.threads()
                  .create(
                      new Threads.NewThread("local", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();

      away.set(true);

      for (String path :
          List.of(
              "/threads",
              "/threads/" + thread + "/messages",
              "/runs",
              "/runs?all=true",
              "/runs/order/" + run,
              "/runs/order/" + run + "/entries")) {
        Wired.Said said = new Wired(server).method("GET").sendTo(path);
        assertThat(said.status()).as(path + " " + said.body()).isEqualTo(503);
        assertThat(said.body().at("/error/code").asText()).isEqualTo("store_unavailable");
        assertThat(said.raw().headers().firstValue("retry-after")).as(path).isPresent();
      }
    }
  }

  @Test
  void requestsAboutThreadsAndRunsAreCountedAsCallsByTheirCode() throws Exception {
    AtomicBoolean away = new AtomicBoolean();
    Store store =
        AlteredStore.of(
            Store.memory(),
            request -> away.get() && request.isAsync() ? AlteredStore.away() : request.ask());
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    try (Fermata host =
            Fermata.host().store(store).agent(DESK).telemetry(Meters.of(registry)).start();
        McpServer server =
            McpServer.serving(host).threads(host.threads()).runs(host.runs()).port(0).start()) {
      Wired.Said created = new Wired(server).sendTo("/threads", "{\"agent\":\"desk\"}");
      String thread = created.raw().headers().firstValue("Location").orElseThrow();
      away.set(true);
      new Wired(server).method("GET").sendTo(thread + "/messages");
      new Wired(server).method("GET").sendTo("/runs");
      new Wired(server).method("GET").sendTo("/runs/order");

      assertThat(calls(registry))
          .containsExactlyInAnyOrder(
              "/threads ok none",
              "/threads error store_unavailable",
              "/runs error store_unavailable",
              "/runs error not_found");
    }
  }

  private static List<String> calls(SimpleMeterRegistry registry) {
    return registry.find("fermata.calls").tag("kind", "http").timers().stream()
        .map(Timer::getId)
        .map(id -> id.getTag("tool") + " " + id.getTag("status") + " " + id.getTag("code"))
        .toList();
  }

  @Test
  void aMessageThatIsJournaledIsAcceptedAlthoughItsOutcomeCannotBeRead() throws Exception {
    Store store =
        AlteredStore.of(
            Store.memory(),
            request -> request.is("readBack") ? AlteredStore.away() : request.ask());
    try (Fermata host = Fermata.host().store(store).agent(DESK).start();
        McpServer server = McpServer.serving(host).threads(host.threads()).port(0).start()) {
      Wired.Said created = new Wired(server).sendTo("/threads", "{\"agent\":\"desk\"}");
      String thread = created.raw().headers().firstValue("Location").orElseThrow();
      Wired.Said posted =
          new Wired(server).sendTo(thread + "/messages?wait=30", "{\"content\":\"Hi\"}");
      assertThat(posted.status()).isEqualTo(202);
      assertThat(posted.body().path("messageId").asText()).isNotEmpty();

      ObjectNode send = Json.object().put("action", "send").put("message", "Hi");
      JsonNode sent =
          now(host.call(new ToolCall("desk", "local", send, Json.object(), null))).structured();
      assertThat(sent.path("status").asText()).isEqualTo("working");
      assertThat(sent.path("threadId").asText()).isNotEmpty();
    }
  }

  @Test
  void whatKeepsAnOutcomeFromItsCallerIsLoggedOnceIfItIsTheServersFault() throws Exception {
    Logger logger = (Logger) LoggerFactory.getLogger(HttpError.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try (Fermata host = Fermata.host().store(Store.memory()).agent(DESK).start();
        McpServer server =
            McpServer.serving(host).threads(unfollowed(host.threads())).port(0).start()) {
      Wired.Said created = new Wired(server).sendTo("/threads", "{\"agent\":\"desk\"}");
      String thread = created.raw().headers().firstValue("Location").orElseThrow();

      Wired.Said posted =
          new Wired(server).sendTo(thread + "/messages?wait=30", "{\"content\":\"Hi\"}");
      assertThat(posted.status()).isEqualTo(202);
      assertThat(faults(logged)).hasSize(1);

      Wired.Said answered =
          new Wired(server)
              .sendTo(thread + "/answers?wait=30", "{\"call\":\"c\",\"approved\":true}");
      assertThat(answered.status()).isEqualTo(200);
      assertThat(faults(logged)).hasSize(2);
    } finally {
      logger.detachAppender(logged);
    }
  }

  private static List<String> faults(ListAppender<ILoggingEvent> logged) {
    return List.copyOf(logged.list).stream()
        .filter(event -> event.getLevel() == Level.ERROR)
        .map(event -> event.getThrowableProxy().getMessage())
        .filter(why -> why.contains("a fault"))
        .toList();
  }

  /** Threads that take messages and answers, and cannot be followed to their outcomes. */
  private static Threads unfollowed(Threads threads) {
    return (Threads)
        Proxy.newProxyInstance(
            Threads.class.getClassLoader(),
            new Class<?>[] {Threads.class},
            (proxy, method, given) ->
                switch (method.getName()) {
                  case "settled" ->
                      CompletableFuture.failedFuture(new IllegalStateException("a fault"));
                  case "answer" -> threads.get((String) given[0], (String) given[1]);
                  default -> method.invoke(threads, given);
                });
  }
}

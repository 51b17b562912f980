package io.fermata.mcp.call;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.mcp.Events;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpStdio;
import io.fermata.mcp.TaskClient;
import io.fermata.mcp.TaskServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ToolHost;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of jobs whose clients stop waiting, also while the host refuses to cancel. */
@Timeout(60)
@Tag("slow")
class JobToolCallsTest {
  private static final String FORMS = "{\"elicitation\":{}}";
  private static final String CANCEL =
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}";

  @TempDir Path directory;

  /** Whether the host refuses commands of a kind, and a permit for each that it has refused. */
  private final AtomicBoolean full = new AtomicBoolean();

  private volatile String kind = "cancel";
  private final Semaphore refused = new Semaphore(0);

  private TaskServer kitchen;
  private Fermata host;
  private McpServer server;

  @BeforeEach
  void start() {
    kitchen = new TaskServer(directory);
    host = kitchen.host(Duration.ofMillis(300));
    server =
        McpServer.serving(sometimesFull(ToolHost.class, host))
            .port(0)
            .idleTimeout(Duration.ofSeconds(5))
            .perPrincipal(PrincipalLimits.DEFAULT.callsInFlight(2))
            .start();
  }

  @AfterEach
  void stop() throws Exception {
    kitchen.release();
    server.close();
    host.close();
  }

  /** The call 9 of the job, in a revision before 2026-07-28. */
  private static String call(String meta) {
    return call("\"name\":\"job\",\"arguments\":{}", meta);
  }

  private static String call(String params, String meta) {
    return "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{%s,\"_meta\":{%s}}}"
        .formatted(params, meta);
  }

  private static String named(String callId) {
    return "\"fermata/callId\":\"" + callId + "\"";
  }

  private Events modern(String callId) throws Exception {
    Wired wired = new Wired(server);
    String message =
        wired.modernMessage("tools/call", "job", "\"name\":\"job\",\"arguments\":{}", FORMS);
    return wired.listen(message.replace("\"_meta\":{", "\"_meta\":{" + named(callId) + ",")).get();
  }

  private static JsonNode result(Events events) throws Exception {
    return (events.streamed() ? events.next() : events.plain()).path("result");
  }

  private void awaitThatOneCallIsInFlight() {
    int status = 429;
    while (status == 429) {
      status = new Wired(server).request("tools/call", "\"name\":\"none\"").status();
    }
  }

  /** The host, or its tasks. */
  private <T> T sometimesFull(Class<T> type, T target) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, given) -> {
              if (full.get() && method.getName().equals(kind)) {
                refused.release();
                return CompletableFuture.completedFuture(ToolReply.refused(HostError.OVERLOADED));
              }
              Object answer = method.invoke(target, given);
              return answer instanceof Tasks tasks ? sometimesFull(Tasks.class, tasks) : answer;
            }));
  }

  private void awaitThatTheJobIsUndone() throws InterruptedException {
    while (!kitchen.undone()) {
      Thread.sleep(20);
    }
  }

  @Test
  void aJobThatIsCalledAgainUnderItsIdOutlivesTheBrokenConnectionOfItsFirstCall() throws Exception {
    Events first = modern("c1");
    Events second = modern("c1");

    first.breakOff();
    awaitThatOneCallIsInFlight();
    kitchen.release();

    assertThat(result(second).path("resultType").asText()).isEqualTo("input_required");
    assertThat(kitchen.heated()).isEqualTo(1);
    assertThat(kitchen.undone()).isFalse();
  }

  @Test
  void aJobThatItsClientDidNotNameIsCancelledWithTheConnectionOfItsCall() throws Exception {
    Events events = new Wired(server).listen(call("")).get();

    events.breakOff();

    awaitThatTheJobIsUndone();
  }

  @ParameterizedTest
  @ValueSource(strings = {"17", "\"\"", "true", "{}"})
  void aJobUnderWhatIsNoIdIsRefusedAndNotRunUnderAnother(String id) throws Exception {
    kitchen.release();

    Events events = new Wired(server).listen(call("\"fermata/callId\":" + id)).get();

    assertThat(result(events).at("/content/0/text").asText())
        .contains("fermata/callId must be a string that is not empty");
    assertThat(kitchen.heated()).isZero();
  }

  record Letter(String to, String text) {}

  private static Fermata letters() {
    ObjectNode arguments = Json.object().put("type", "object");
    arguments.putObject("properties").putObject("to").put("type", "string");
    Flow<Letter> flow =
        Flow.of("letter", Letter.class)
            .description("Writes a letter.")
            .ask("ask_text", q -> q.question("text", "What to write?"))
            .edge(START, "ask_text")
            .edge("ask_text", END)
            .result(letter -> letter.to() + ": " + letter.text())
            .compile();
    return Fermata.host()
        .store(Store.memory())
        .job(FlowTool.of("letter", flow.description(), flow).arguments(arguments))
        .start();
  }

  private static String letter(String to, String more) {
    return "\"name\":\"letter\",\"arguments\":{\"to\":\"%s\"}%s".formatted(to, more);
  }

  private static JsonNode write(McpServer post, String to, String more) throws Exception {
    Wired wired = new Wired(post);
    String message = wired.modernMessage("tools/call", "letter", letter(to, more), FORMS);
    return result(
        wired.listen(message.replace("\"_meta\":{", "\"_meta\":{" + named("c1") + ",")).get());
  }

  @Test
  void theIdOfAJobIsNotForAnotherRequestWhichDoesNotGetItsForm() throws Exception {
    try (Fermata letters = letters();
        McpServer post = McpServer.serving(letters).port(0).start()) {
      JsonNode form = write(post, "ann", "");
      assertThat(form.path("resultType").asText()).isEqualTo("input_required");

      JsonNode other = write(post, "bob", "");

      assertThat(other.path("isError").asBoolean()).isTrue();
      assertThat(other.at("/content/0/text").asText()).contains("used for another request");
      String filled =
          ",\"requestState\":%s,\"inputResponses\":{\"%s\":{\"action\":\"accept\",\"content\":{\"text\":\"hi\"}}}"
              .formatted(form.path("requestState"), TaskClient.key(form, "text"));
      assertThat(write(post, "ann", filled).at("/content/0/text").asText()).isEqualTo("ann: hi");
    }
  }

  @Test
  void theIdOfAJobIsNotForAnotherRequestOfAClientThatIsAskedOverItsStream() throws Exception {
    try (Fermata letters = letters();
        McpServer post = McpServer.serving(letters).port(0).start()) {
      write(post, "ann", "");
      Wired client = new Wired(post).session("2025-06-18", FORMS);

      Events other = client.listen(call(letter("bob", ""), named("c1"))).get();

      assertThat(result(other).at("/content/0/text").asText()).contains("used for another request");
    }
  }

  @Test
  void aClientCancelsAJobThatItNamed() throws Exception {
    Wired client = new Wired(server).session("2025-06-18", "{}");
    Events events = client.listen(call(named("c1"))).get();

    client.send(CANCEL);

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
    awaitThatTheJobIsUndone();
  }

  @Test
  void aJobThatItsClientNamedOutlivesAConnectionThatCannotBeSilentForAsLong() throws Exception {
    Wired client = new Wired(server).with("Accept", "application/json");

    JsonNode late = client.listen(call(named("c1"))).get().plain().path("result");

    assertThat(late.at("/content/0/text").asText()).contains("continues", "c1");
    kitchen.release();
    assertThat(result(modern("c1")).path("resultType").asText()).isEqualTo("input_required");
    assertThat(kitchen.heated()).isEqualTo(1);
  }

  @Test
  void aJobThatItsClientNamedOutlivesTheClientThatItAsks() throws Exception {
    kitchen.release();
    PipedOutputStream toServer = new PipedOutputStream();
    PipedInputStream in = new PipedInputStream(toServer, 1 << 16);
    PipedOutputStream out = new PipedOutputStream();
    BufferedReader fromServer =
        new BufferedReader(new InputStreamReader(new PipedInputStream(out, 1 << 16), UTF_8));
    try (McpStdio stdio = McpServer.serving(host).stdio(in, out)) {
      String hello =
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":%s}}";
      toServer.write((hello.formatted(FORMS) + "\n" + call(named("c1")) + "\n").getBytes(UTF_8));
      toServer.flush();
      assertThat(fromServer.readLine()).contains("protocolVersion");
      assertThat(fromServer.readLine()).contains("elicitation/create");

      toServer.close();
      stdio.awaitEnd();
    }

    assertThat(result(modern("c1")).path("inputRequests")).hasSize(2);
    assertThat(kitchen.heated()).isEqualTo(1);
  }

  @Test
  void aJobWhoseCancellationIsRefusedForNowIsCancelledLater() throws Exception {
    Events events = new Wired(server).listen(call("")).get();
    full.set(true);

    events.breakOff();

    refused.acquire();
    full.set(false);
    awaitThatTheJobIsUndone();
  }

  @Test
  void aJobThatCouldNotBeCancelledIsNotReportedAsCancelled() throws Exception {
    CompletableFuture<Events> call =
        new Wired(server).with("Accept", "application/json").listen(call(""));
    while (kitchen.heated() == 0) {
      Thread.sleep(5);
    }
    full.set(true);

    JsonNode late = call.get().plain().path("result");

    assertThat(late.at("/content/0/text").asText())
        .contains("cannot be cancelled", "continues", "callId");
    full.set(false);
    kitchen.release();
    String callId = late.path("_meta").path("fermata/callId").asText();
    assertThat(result(modern(callId)).path("resultType").asText()).isEqualTo("input_required");
    assertThat(kitchen.undone()).isFalse();
  }

  @Test
  void aClientCancelsAJobWhoseAnswerIsRefusedForNow() throws Exception {
    kitchen.release();
    Wired client = new Wired(server).session("2025-06-18", FORMS);
    Events events = client.listen(call("")).get();
    List<JsonNode> asked = List.of(events.next(), events.next());
    kind = "answer";
    full.set(true);
    for (JsonNode ask : asked) {
      String field =
          ask.at("/params/requestedSchema/properties").properties().iterator().next().getKey();
      client.send(
          "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{\"%s\":\"soup\"}}}"
              .formatted(ask.path("id"), field));
    }
    refused.acquire(2);

    client.send(CANCEL);

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
    awaitThatTheJobIsUndone();
  }

  @Test
  void aClientThatDeclinesWaitsUntilItsJobIsCancelled() throws Exception {
    kitchen.release();
    Wired client = new Wired(server).session("2025-06-18", FORMS);
    Events events = client.listen(call("")).get();
    List<String> asked =
        List.of(events.next().path("id").asText(), events.next().path("id").asText());
    full.set(true);

    for (String id : asked) {
      client.send(
          "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"decline\"}}".formatted(id));
    }

    refused.acquire();
    full.set(false);
    assertThat(events.next().at("/result/content/0/text").asText()).contains("was cancelled");
    awaitThatTheJobIsUndone();
  }
}

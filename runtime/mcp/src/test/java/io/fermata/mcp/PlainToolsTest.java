package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.TaskUse;
import io.fermata.flow.ToolHints;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpBody;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpContent;
import io.fermata.mcp.feature.McpHandler;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.feature.McpMessage;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.settings.OAuth;
import io.fermata.session.call.ToolContract;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** The features that authors register besides flows, and their failures. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PlainToolsTest {
  record Sum(int a, int b) {}

  record Total(int total) {}

  record Named(@Nullable String name) {}

  record Limits(Map<String, Integer> by) {}

  record Totals(List<Named> totals) {}

  private final BlockingQueue<String> interrupted = new LinkedBlockingQueue<>();
  private final Semaphore working = new Semaphore(0);
  private McpServer server;

  @BeforeAll
  void start() {
    server =
        McpServer.serving(new FakeHost())
            .tool(
                McpTool.of("add", "Adds two numbers")
                    .title("Addition")
                    .readOnly()
                    .input(Sum.class)
                    .output(Total.class)
                    .call(PlainToolsTest::add))
            .tool(
                McpTool.of("lie", "Promises what it does not keep")
                    .output(Total.class)
                    .call(call -> McpResult.structured(Json.object().put("total", "many"))))
            .tool(
                McpTool.of("lists", "Lists totals, of which one is none")
                    .output(Totals.class)
                    .call(
                        call ->
                            McpResult.structured(
                                Json.object()
                                    .set(
                                        "totals",
                                        Json.tree(
                                            List.of(Collections.singletonMap("name", null)))))))
            .tool(
                McpTool.of("fail", "Fails")
                    .call(
                        call -> {
                          throw new IllegalStateException("secret /etc");
                        }))
            .tool(
                McpTool.of("break", "Breaks")
                    .call(
                        call -> {
                          throw new StackOverflowError("secret /etc");
                        }))
            .prompt(
                McpPrompt.of("break", "Breaks")
                    .get(
                        call -> {
                          throw new StackOverflowError("secret /etc");
                        }))
            .tool(
                McpTool.of("mute", "Fails without a word")
                    .call(
                        call -> {
                          throw new Mute();
                        }))
            .prompt(
                McpPrompt.of("mute", "Fails without a word")
                    .get(
                        call -> {
                          throw new Mute();
                        }))
            .prompt(
                McpPrompt.of("muted", "Fails for that")
                    .get(
                        call -> {
                          throw new IllegalStateException("broken", new Mute());
                        }))
            .tool(
                McpTool.of("later", "Answers later")
                    .callAsync(
                        call ->
                            new CompletableFuture<McpResult>()
                                .completeOnTimeout(
                                    McpResult.text("now"), 50, TimeUnit.MILLISECONDS)))
            .tool(
                McpTool.of("log", "Logs")
                    .call(
                        call -> {
                          call.log(McpLevel.INFO, "working");
                          return McpResult.text("done");
                        }))
            .tool(
                McpTool.of("route", "Has an argument that a header repeats")
                    .input(
                        "{\"type\":\"object\",\"properties\":{\"zone\":{\"type\":\"integer\",\"x-mcp-header\":\"Zone\"}}}")
                    .callAtOnce(call -> McpResult.text("there")))
            .tool(
                McpTool.of("given", "Says what it was given")
                    .input(
                        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"maximum\":100}}}")
                    .call(call -> McpResult.text(Json.text(call.arguments()))))
            .tool(
                McpTool.of("limit", "Sets limits")
                    .input(Limits.class)
                    .call(call -> McpResult.text(call.arguments(Limits.class).toString())))
            .tool(
                McpTool.of("thread", "Says where it runs")
                    .call(call -> McpResult.text(Thread.currentThread().getName())))
            .tool(McpTool.of("endless", "Works until it is interrupted").call(this::endless))
            .tool(
                McpTool.of("divide", "Reports what is no number")
                    .call(
                        call -> {
                          call.progress(Double.NaN, 1);
                          call.progress(1, Double.POSITIVE_INFINITY);
                          return McpResult.text("done");
                        }))
            .tool(
                McpTool.of("point", "Points to a resource")
                    .call(call -> McpResult.of(McpContent.link("orders://7", "Order 7"))))
            .prompt(
                McpPrompt.of("point", "Points to a resource")
                    .get(
                        call -> List.of(McpMessage.user(McpContent.link("orders://7", "Order 7")))))
            .prompt(
                McpPrompt.of("greet", "Greets")
                    .required("whom", "Who is greeted")
                    .completing("whom", (begun, others) -> List.of(begun + "da"))
                    .get(
                        call ->
                            List.of(
                                McpMessage.user("Greet " + call.argument("whom")),
                                McpMessage.assistant("Hello"))))
            .template(
                McpTemplate.of(
                    "orders://{year}/{+path}",
                    "Orders",
                    "text/plain",
                    call -> McpBody.text(call.name(), "text/plain", call.arguments().toString())))
            .port(0)
            .start();
  }

  private static McpResult add(McpCall call) {
    Sum sum = call.arguments(Sum.class);
    return McpResult.structured(new Total(sum.a() + sum.b()));
  }

  private McpResult endless(McpCall call) throws InterruptedException {
    call.progress(0, 1);
    working.release();
    try {
      Thread.sleep(60_000);
    } catch (InterruptedException e) {
      interrupted.add(String.valueOf(call.cancelled()));
      throw e;
    }
    return McpResult.text("never");
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private JsonNode call(String tool, String arguments) {
    return new Wired(server)
        .with("Mcp-Name", tool)
        .modern("tools/call", "\"name\":\"%s\",\"arguments\":%s".formatted(tool, arguments))
        .result();
  }

  private Wired.Said legacy(String method, String params) {
    return new Wired(server).with("MCP-Protocol-Version", "2025-11-25").request(method, params);
  }

  @Test
  void aToolIsListedBesideFlowsAndAnswersInEveryRevision() {
    JsonNode tools = new Wired(server).modern("tools/list", "").result().path("tools");
    assertThat(tools.findValuesAsText("name")).contains("noop", "add", "show_plans");

    JsonNode modern = call("add", "{\"a\":2,\"b\":3}");
    JsonNode elder =
        legacy("tools/call", "\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3}").result();
    JsonNode eldest =
        new Wired(server)
            .request("tools/call", "\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3}")
            .result();

    assertThat(modern.at("/structuredContent/total").asInt()).isEqualTo(5);
    assertThat(modern.path("resultType").asText()).isEqualTo("complete");
    assertThat(elder.at("/structuredContent/total").asInt()).isEqualTo(5);
    assertThat(elder.has("resultType")).isFalse();
    assertThat(eldest.has("structuredContent")).isFalse();
    assertThat(eldest.at("/content/0/text").asText()).isEqualTo("{\"total\":5}");
  }

  @Test
  void argumentsThatDoNotFitNeverReachTheHandler() {
    JsonNode result = call("add", "{\"a\":\"two\",\"c\":3}");

    assertThat(result.path("isError").asBoolean()).isTrue();
    assertThat(result.at("/content/0/text").asText()).contains("a ", "b is required", "c ");
  }

  @Test
  void anIntegerMayBeWrittenWithAFractionAndIsOneForTheHandler() {
    assertThat(call("add", "{\"a\":2.0,\"b\":3e0}").at("/structuredContent/total").asInt())
        .isEqualTo(5);
    assertThat(call("given", "{\"n\":5.0,\"m\":5.0}").at("/content/0/text").asText())
        .isEqualTo("{\"n\":5,\"m\":5.0}");
    assertThat(call("given", "{\"n\":18446744073709551617.0}").at("/content/0/text").asText())
        .contains("n must be 100 or less");
  }

  @Test
  void aFailureRevealsNothingOfItsCause() {
    JsonNode result = call("fail", "{}");

    assertThat(result.path("isError").asBoolean()).isTrue();
    assertThat(result.at("/content/0/text").asText()).contains("fail").doesNotContain("secret");
  }

  @Test
  void anErrorIsAnsweredAsAnyFailure() {
    assertThat(call("break", "{}").path("isError").asBoolean()).isTrue();
    assertThat(legacy("prompts/get", "\"name\":\"break\"").code()).isEqualTo(-32603);
  }

  private static final class Mute extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("nothing to say");
    }
  }

  @Test
  void anExceptionThatFailsToSayItsMessageIsAnsweredAsAnyFailure() {
    assertThat(call("mute", "{}").path("isError").asBoolean()).isTrue();
    assertThat(legacy("prompts/get", "\"name\":\"mute\"").code()).isEqualTo(-32603);
    assertThat(legacy("prompts/get", "\"name\":\"muted\"").code()).isEqualTo(-32603);
  }

  @Test
  void aResultThatBreaksThePromiseOfItsToolIsNotPassedOn() {
    JsonNode result = call("lie", "{}");

    assertThat(result.path("isError").asBoolean()).isTrue();
    assertThat(result.has("structuredContent")).isFalse();
  }

  @Test
  void aResultWithNullWhereItsOutputSchemaHasATextIsNotSentAsItIs() {
    assertThat(call("lists", "{}").path("isError").asBoolean()).isTrue();
  }

  @Test
  void nullInAMapOfValuesIsAbsentForTheHandlerAsForTheCheck() {
    assertThat(call("limit", "{\"by\":{\"a\":null,\"b\":1}}").at("/content/0/text").asText())
        .isEqualTo("Limits[by={b=1}]");
  }

  @Test
  void aToolMayAnswerLater() {
    assertThat(call("later", "{}").at("/content/0/text").asText()).isEqualTo("now");
  }

  @Test
  void noHandlerHoldsAThreadOfTheServer() {
    assertThat(call("thread", "{}").at("/content/0/text").asText()).doesNotContain("eventloop");
  }

  @Test
  void progressThatIsNotFiniteIsNotReported() throws Exception {
    Wired client = new Wired(server);
    ObjectNode message =
        (ObjectNode)
            Json.parse(client.modernMessage("tools/call", "divide", "\"name\":\"divide\"", "{}"));
    message.withObject("/params/_meta").put("progressToken", "t");
    JsonNode first = client.listen(message.toString()).get().next();
    assertThat(first.path("params").toString())
        .isEqualTo("{\"progressToken\":\"t\",\"progress\":1.0}");
  }

  @Test
  void aClientThatGoesAwayCancelsItsCall() throws Exception {
    Wired client = new Wired(server);
    ObjectNode message =
        (ObjectNode)
            Json.parse(client.modernMessage("tools/call", "endless", "\"name\":\"endless\"", "{}"));
    message.withObject("/params/_meta").put("progressToken", "t");
    Events events = client.listen(message.toString()).get();
    assertThat(events.next().path("method").asText()).isEqualTo("notifications/progress");

    events.breakOff();

    assertThat(interrupted.poll(60, TimeUnit.SECONDS)).isEqualTo("true");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "%s; application/json",
        "[%s]; application/json",
        "[%s]; application/json, text/event-stream"
      })
  void aClientWithoutASessionCancelsItsCallByDisconnecting(String message, String accepted)
      throws Exception {
    String body =
        message.formatted(
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"endless\"}}");
    working.drainPermits();
    try (Socket socket = new Socket("localhost", server.endpoint().getPort())) {
      String head =
          "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: %s\r\nMCP-Protocol-Version: 2025-03-26\r\nContent-Length: %d\r\n\r\n"
              .formatted(server.endpoint().getPath(), accepted, body.length());
      socket.getOutputStream().write((head + body).getBytes(StandardCharsets.US_ASCII));
      assertThat(working.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(interrupted.poll(30, TimeUnit.SECONDS)).isEqualTo("true");
  }

  private Wired session() {
    return new Wired(server).session("2025-11-25", "{}");
  }

  /** The events of the call 9, which works until it is called off. */
  private static Events begun(Wired client) throws Exception {
    Events events =
        client
            .listen(
                "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"endless\",\"_meta\":{\"progressToken\":\"t\"}}}")
            .get();
    assertThat(events.next().path("method").asText()).isEqualTo("notifications/progress");
    return events;
  }

  private static int callOff(Wired client) {
    return client
        .send(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}")
        .status();
  }

  @Test
  void aClientOfASessionCancelsItsCall() throws Exception {
    Wired client = session();
    Events events = begun(client);

    // Nobody else can: neither from another session, nor without one.
    assertThat(callOff(session())).isEqualTo(202);
    assertThat(callOff(new Wired(server))).isEqualTo(202);
    assertThat(interrupted).isEmpty();
    assertThat(callOff(client)).isEqualTo(202);

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
    assertThat(interrupted.poll(60, TimeUnit.SECONDS)).isEqualTo("true");
  }

  @ParameterizedTest
  @ValueSource(strings = {"%s", "[%s]"})
  void aClientOfASessionThatTakesNoStreamCancelsItsCall(String message) throws Exception {
    Wired client = new Wired(server).session("2025-03-26", "{}").with("Accept", "application/json");
    working.drainPermits();
    CompletableFuture<Events> answer =
        client.listen(
            message.formatted(
                "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"endless\"}}"));
    assertThat(working.tryAcquire(60, TimeUnit.SECONDS)).isTrue();

    assertThat(callOff(client)).isEqualTo(202);

    assertThat(answer.get().plain().toString()).contains("cancelled");
    assertThat(interrupted.poll(30, TimeUnit.SECONDS)).isEqualTo("true");
  }

  @ParameterizedTest
  @ValueSource(strings = {"2025-03-26", "2025-06-18", "2025-11-25"})
  void aBrokenConnectionOfAnOlderClientDoesNotCancelItsCall(String version) throws Exception {
    Wired client = new Wired(server).session(version, "{}");
    Events events = begun(client);

    events.breakOff();

    assertThat(interrupted.poll(2, TimeUnit.SECONDS)).isNull();
    assertThat(callOff(client)).isEqualTo(202);
    assertThat(interrupted.poll(30, TimeUnit.SECONDS)).isEqualTo("true");
  }

  @Test
  void aLinkIsATextForAClientWhoseRevisionHasNone() {
    String link = "{\"type\":\"resource_link\",\"uri\":\"orders://7\",\"name\":\"Order 7\"}";
    assertThat(pointed("2025-06-18")).containsExactly(Json.parse(link), Json.parse(link));

    String text = "{\"type\":\"text\",\"text\":\"Order 7: orders://7\"}";
    assertThat(pointed("2025-03-26")).containsExactly(Json.parse(text), Json.parse(text));
  }

  private List<JsonNode> pointed(String version) {
    Wired client = new Wired(server).session(version, "{}");
    return List.of(
        client.request("tools/call", "\"name\":\"point\"").result().at("/content/0"),
        client.request("prompts/get", "\"name\":\"point\"").result().at("/messages/0/content"));
  }

  private int routed(@Nullable String header, String arguments) {
    Wired client = new Wired(server).with("Mcp-Name", "route");
    if (header != null) {
      client.with("Mcp-Param-Zone", header);
    }
    return client.modern("tools/call", "\"name\":\"route\",\"arguments\":" + arguments).code();
  }

  @Test
  void aHeaderMustSayWhatItsArgumentSays() {
    assertThat(routed("7", "{\"zone\":7}")).isZero();
    assertThat(routed("=?base64?Nw==?=", "{\"zone\":7}")).isZero();
    assertThat(routed(null, "{}")).isZero();
    assertThat(routed(null, "{\"zone\":7}")).isEqualTo(-32020);
    assertThat(routed("8", "{\"zone\":7}")).isEqualTo(-32020);
    assertThat(routed("7", "{}")).isEqualTo(-32020);
    assertThat(routed("=?base64?Nw?=", "{\"zone\":7}")).isEqualTo(-32020);
  }

  /** A host with one job, whose argument is repeated in a header. */
  private static FakeHost jobWithHeader(String header) {
    ObjectNode input = Json.object().put("type", "object");
    input
        .putObject("properties")
        .putObject("zone")
        .put("type", "integer")
        .put("x-mcp-header", header);
    ToolContract job =
        new ToolContract(
            "noop",
            "Job",
            "Runs",
            input,
            Json.object(),
            TaskUse.WHEN_LATE,
            ToolContract.Kind.JOB,
            ToolHints.CHANGES,
            "");
    return new FakeHost() {
      @Override
      public List<ToolContract> tools() {
        return List.of(job);
      }
    };
  }

  @Test
  void aHeaderMustSayWhatTheArgumentOfAJobSays() {
    try (McpServer serving = McpServer.serving(jobWithHeader("Zone")).port(0).start()) {
      Wired client = new Wired(serving).with("Mcp-Name", "noop").with("Mcp-Param-Zone", "8");

      assertThat(client.modern("tools/call", "\"name\":\"noop\",\"arguments\":{\"zone\":8}").code())
          .isZero();
      assertThat(client.modern("tools/call", "\"name\":\"noop\",\"arguments\":{\"zone\":7}").code())
          .isEqualTo(-32020);
    }
    assertThatThrownBy(() -> McpServer.serving(jobWithHeader("a b")).port(0).start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("The tool noop requires the header \"a b\"");
  }

  private JsonNode firstOfLogging(String level) throws Exception {
    Wired client = new Wired(server);
    String message = client.modernMessage("tools/call", "log", "\"name\":\"log\"", "{}");
    Events events =
        client
            .listen(
                message.replace(
                    "\"_meta\":{",
                    "\"_meta\":{\"io.modelcontextprotocol/logLevel\":\"" + level + "\","))
            .get();
    return events.streamed() ? events.next() : events.plain();
  }

  @Test
  void aModernClientReceivesMessagesOfTheLevelItNames() throws Exception {
    JsonNode logged = firstOfLogging("info");
    assertThat(logged.path("method").asText()).isEqualTo("notifications/message");
    assertThat(logged.at("/params/data").asText()).isEqualTo("working");

    assertThat(firstOfLogging("warning").has("result")).isTrue();
  }

  @Test
  void aPromptTakesWhatItNeeds() {
    JsonNode result =
        legacy("prompts/get", "\"name\":\"greet\",\"arguments\":{\"whom\":\"Ada\"}").result();
    assertThat(result.at("/messages/0/content/text").asText()).isEqualTo("Greet Ada");
    assertThat(result.at("/messages/1/role").asText()).isEqualTo("assistant");

    assertThat(legacy("prompts/get", "\"name\":\"greet\"").code()).isEqualTo(-32602);
    Wired.Said unknown = legacy("prompts/get", "\"name\":\"no\"");
    assertThat(unknown.code()).isEqualTo(-32602);
    assertThat(unknown.message()).contains("Unknown prompt: no", "prompts/list");
  }

  @Test
  void anArgumentIsCompleted() {
    Wired.Said said =
        legacy(
            "completion/complete",
            "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},"
                + "\"argument\":{\"name\":\"whom\",\"value\":\"A\"}");

    assertThat(said.result().at("/completion/values/0").asText()).isEqualTo("Ada");
  }

  @Test
  void aTemplateFindsItsVariables() {
    JsonNode read =
        legacy("resources/read", "\"uri\":\"orders://2026/a%20b/c\"").result().path("contents");

    assertThat(read.at("/0/text").asText()).isEqualTo("{\"year\":\"2026\",\"path\":\"a b/c\"}");
    assertThat(legacy("resources/read", "\"uri\":\"orders://2026\"").code()).isEqualTo(-32002);
  }

  @Test
  void aKeywordOfAnExtensionIsNoReasonForAWarning() {
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    Logger log = (Logger) LoggerFactory.getLogger("com.networknt.schema");
    lines.start();
    log.addAppender(lines);
    try {
      McpTool.of("marked", "Has a keyword of its own")
          .input("{\"type\":\"object\",\"properties\":{\"n\":{\"x-of-this-test\":\"N\"}}}")
          .call(call -> McpResult.text(""));
    } finally {
      log.detachAppender(lines);
    }

    assertThat(lines.list).isEmpty();
  }

  @Test
  void whatCannotBeServedIsRefusedAtStart() {
    McpHandler<McpResult> nothing = call -> McpResult.text("");
    assertThatThrownBy(
            () ->
                McpServer.serving(new FakeHost())
                    .tool(McpTool.of("noop", "A flow's name").call(nothing))
                    .port(0)
                    .start())
        .hasMessageContaining("noop");
    assertThatThrownBy(() -> McpServer.plain().tool(McpTool.of("mute", "Says nothing")).start())
        .hasMessageContaining("call(…)");
    assertThatThrownBy(
            () ->
                McpServer.plain()
                    .tool(
                        McpTool.of("routed", "Has a bad header")
                            .input(
                                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a b\"}}}")
                            .call(nothing))
                    .start())
        .hasMessageContaining("a b");
    assertThatThrownBy(() -> McpTool.of("no spaces", "")).hasMessageContaining("no spaces");
  }

  @Test
  void whatCannotBeServedIsRefusedBeforeThereIsAHost() {
    McpHandler<McpResult> nothing = call -> McpResult.text("");
    McpTool order = McpTool.of("order", "A flow's name").call(nothing);
    OAuth tokens = OAuth.issuer("http://localhost:1");
    OAuth addressed = tokens.audience("https://flows.example.com/mcp");
    Map<McpServerBuilder, String> servers =
        Map.of(
            McpServer.plain().tool(order),
            "already named order",
            McpServer.plain().tool(McpTool.of("mute", "Says nothing")),
            "call(…)",
            McpServer.plain().prompt(McpPrompt.of("mute", "Says nothing")),
            "get(…)",
            McpServer.plain()
                .tool(McpTool.of("operate_runs", "Its own").call(nothing))
                .operatorsTool(),
            "two tools named operate_runs",
            McpServer.plain().oauth(tokens),
            "no audience",
            McpServer.plain().oauth(addressed.resource("here")),
            "not an address",
            McpServer.plain().oauth(addressed.scopesOf("ordre", "food")),
            "scopesOf names \"ordre\"");
    servers.forEach(
        (server, reason) -> {
          assertThatThrownBy(() -> server.port(0).check(Set.of("order")))
              .hasMessageContaining(reason);
          assertThatThrownBy(() -> server.checkStdio(Set.of("order"))).hasMessageContaining(reason);
        });
    McpServer.plain()
        .tool(order)
        .oauth(addressed.scopesOf("dessert", "food"))
        .port(0)
        .check(Set.of("dessert"));
  }
}

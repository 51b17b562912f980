package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.settings.PrincipalLimits;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Servers of a cluster, behind a load balancer that sends each request of a client of an older
 * revision to any of them.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AnyServerTest {
  record Name(String name) {}

  private static final String FORMS = "{\"elicitation\":{}}";

  private final FakeBus bus = new FakeBus();
  private final CountDownLatch interrupted = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private McpServer one;
  private McpServer other;

  @BeforeEach
  void start() {
    one = server();
    other = server();
  }

  @AfterEach
  void stop() {
    one.close();
    other.close();
  }

  private McpServer server() {
    return server(PrincipalLimits.DEFAULT);
  }

  private McpServer server(PrincipalLimits limits) {
    FakeHost host = new FakeHost();
    host.bus = bus.join();
    return McpServer.serving(host)
        .tool(McpTool.of("greet", "Greets").call(AnyServerTest::greet))
        .tool(McpTool.of("later", "Greets when it may").call(this::later))
        .tool(McpTool.of("endless", "Never ends").call(this::endless))
        .tool(McpTool.of("log", "Logs").call(AnyServerTest::log))
        .resource(McpResource.text("test://a", "A", "text/plain", () -> "a"))
        .apiKey("ada", "key-of-ada")
        .apiKey("bob", "key-of-bob")
        .perPrincipal(limits)
        .port(0)
        .start();
  }

  private static McpResult greet(McpCall call) {
    return McpResult.text(
        "Hello, "
            + call.ask("name", McpAsk.form("Your name?", Name.class))
                .content()
                .path("name")
                .asText());
  }

  private McpResult later(McpCall call) throws InterruptedException {
    call.progress(1, 2);
    released.await();
    return greet(call);
  }

  private McpResult endless(McpCall call) throws InterruptedException {
    call.progress(1, 2);
    try {
      new CountDownLatch(1).await();
    } finally {
      interrupted.countDown();
    }
    return McpResult.text("");
  }

  private static McpResult log(McpCall call) {
    call.log(McpLevel.DEBUG, "detail");
    return McpResult.text("logged");
  }

  private Wired at(McpServer server, String principal) {
    return new Wired(server).with("Authorization", "Bearer key-of-" + principal);
  }

  private Wired ada() {
    return at(one, "ada").session("2025-11-25", FORMS);
  }

  /** The same client, whose next requests reach the other server. */
  private Wired elsewhere(Wired client) {
    return at(other, "ada")
        .with("MCP-Protocol-Version", "2025-11-25")
        .with("Mcp-Session-Id", client.header("Mcp-Session-Id"));
  }

  private static Events calling(Wired client, String tool) throws Exception {
    return client
        .listen(
            """
            {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"%s","arguments":{},"_meta":{"progressToken":"t"}}}"""
                .formatted(tool))
        .get();
  }

  private static int reply(Wired client, JsonNode question, String name) {
    return client
        .send(
            """
            {"jsonrpc":"2.0","id":"%s","result":{"action":"accept","content":{"name":"%s"}}}"""
                .formatted(question.path("id").asText(), name))
        .status();
  }

  @Test
  void aReplyOfAModernClientIsGoodOnceAtAnyServer() {
    String asked = greet(one, "").result().path("requestState").asText();
    String replied =
        ",\"requestState\":\"%s\",\"inputResponses\":{\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}"
            .formatted(asked);

    bus.unreachable = true;
    assertThat(greet(other, replied).status()).isEqualTo(503);
    bus.unreachable = false;

    assertThat(greet(other, replied).result().at("/content/0/text").asText())
        .isEqualTo("Hello, Ada");
    assertThat(greet(one, replied).body().at("/error/message").asText()).contains("used before");
    assertThat(greet(other, replied).body().at("/error/message").asText()).contains("used before");
  }

  private Wired.Said greet(McpServer server, String more) {
    Wired client = at(server, "ada");
    String params = "\"name\":\"greet\",\"arguments\":{}" + more;
    return client.send(client.modernMessage("tools/call", "greet", params, FORMS));
  }

  @Test
  void aQuestionIsAnsweredAtAnyServerByItsPrincipalAlone() throws Exception {
    Wired client = ada();
    Events events = calling(client, "greet");
    JsonNode question = events.next();
    assertThat(question.path("method").asText()).isEqualTo("elicitation/create");

    assertThat(reply(at(other, "bob"), question, "Bob")).isEqualTo(202);
    assertThat(reply(elsewhere(client), question, "Ada")).isEqualTo(202);

    assertThat(events.next().at("/result/content/0/text").asText()).isEqualTo("Hello, Ada");
  }

  @Test
  void aQuestionIsAnsweredAtAnyServerInItsOwnSessionAlone() throws Exception {
    Wired client = ada();
    Events events = calling(client, "greet");
    JsonNode question = events.next();

    assertThat(reply(elsewhere(ada()), question, "Eve")).isEqualTo(202);
    assertThat(reply(elsewhere(client), question, "Ada")).isEqualTo(202);

    assertThat(events.next().at("/result/content/0/text").asText()).isEqualTo("Hello, Ada");
  }

  @Test
  void aQuestionEndsWithItsSessionAtAnyServer() throws Exception {
    Wired client = ada();
    Events events = calling(client, "greet");
    events.next();

    elsewhere(client).method("DELETE").send("");

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
  }

  @Test
  void nothingIsAskedInASessionThatHasEnded() throws Exception {
    Wired client = ada();
    Events events = calling(client, "later");
    assertThat(events.next().path("method").asText()).isEqualTo("notifications/progress");

    client.method("DELETE").send("");
    released.countDown();

    assertThat(events.next().at("/error/message").asText()).contains("session");
  }

  @Test
  void whatAClientDeclaredIsKnownAtAnyServer() throws Exception {
    Events events = calling(elsewhere(ada()), "greet");

    assertThat(events.next().path("method").asText()).isEqualTo("elicitation/create");
  }

  @Test
  void aRequestIsCancelledAtAnyServer() throws Exception {
    Wired client = ada();
    Events events = calling(client, "endless");
    assertThat(events.next().path("method").asText()).isEqualTo("notifications/progress");

    elsewhere(client)
        .send(
            """
            {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}""");

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
    assertThat(interrupted.await(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void aRequestIsCancelledAtAServerThatHasForgottenItsSession() throws Exception {
    other.close();
    other = server(PrincipalLimits.DEFAULT.sessions(1));
    Wired client = ada();
    elsewhere(client).request("logging/setLevel", "\"level\":\"debug\"");
    Events events = calling(client, "endless");
    assertThat(events.next().path("method").asText()).isEqualTo("notifications/progress");
    at(other, "ada").session("2025-11-25", FORMS);
    assertThat(elsewhere(client).request("ping", "").status()).isEqualTo(404);

    elsewhere(client)
        .send(
            """
            {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}""");

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
  }

  @Test
  void aSessionThatEndedIsUnknownAtAnyServer() throws Exception {
    Wired client = ada();
    assertThat(elsewhere(client).request("ping", "").status()).isEqualTo(200);

    assertThat(elsewhere(client).method("DELETE").send("").status()).isEqualTo(204);

    assertThat(elsewhere(client).request("ping", "").status()).isEqualTo(404);
    while (client.request("ping", "").status() != 404) {
      Thread.sleep(10);
    }
  }

  @Test
  void aStreamNotifiesOfWhatItsClientChoseAtAnyServer() throws Exception {
    Wired client = ada();
    elsewhere(client).request("resources/subscribe", "\"uri\":\"test://a\"");
    elsewhere(client).request("resources/subscribe", "\"uri\":\"test://gone\"");
    elsewhere(client).request("resources/unsubscribe", "\"uri\":\"test://gone\"");
    elsewhere(client).request("logging/setLevel", "\"level\":\"debug\"");

    // Until the other server knows the level, there is the result only.
    while (!notifies(calling(client, "log"))) {
      Thread.sleep(10);
    }
    Events events = client.method("GET").listen("").get();
    one.changes().updated("test://gone");
    one.changes().updated("test://a");
    assertThat(events.next().at("/params/uri").asText()).isEqualTo("test://a");
  }

  @Test
  void anUpdateAtAnyServerReachesTheSubscribersOfAll() throws Exception {
    Wired older = ada();
    older.request("resources/subscribe", "\"uri\":\"test://a\"");
    Events stream = older.method("GET").listen("").get();
    Wired modern = at(one, "ada");
    Events listening =
        modern
            .listen(
                modern.modernMessage(
                    "subscriptions/listen",
                    "",
                    "\"notifications\":{\"resourceSubscriptions\":[\"test://a\"]}",
                    "{}"))
            .get();
    assertThat(listening.next().path("method").asText()).contains("acknowledged");

    other.changes().updated("test://a");

    assertThat(stream.next().at("/params/uri").asText()).isEqualTo("test://a");
    assertThat(listening.next().at("/params/uri").asText()).isEqualTo("test://a");
    listening.breakOff();
  }

  private static boolean notifies(Events events) throws Exception {
    return events.streamed()
        && events.next().path("method").asText().equals("notifications/message");
  }

  @Test
  void noServerReceivesRepliesThatNobodyAskedFor() {
    Wired client = ada();
    String handle = client.header("Mcp-Session-Id").split("\\.", 2)[0];
    for (String id : List.of("made up", "1", handle, "n." + handle, handle + "." + handle)) {
      assertThat(reply(client, Json.object().put("id", id), "Ada")).isEqualTo(202);
    }

    assertThat(bus.published).isEmpty();
  }

  @Test
  void aReplyIsPassedOnOnceAndNothingElseOfIt() throws Exception {
    Wired client = ada();
    JsonNode question = calling(client, "greet").next();
    String reply =
        """
        {"jsonrpc":"2.0","id":"%s","result":{"action":"decline"},"more":"%s"}"""
            .formatted(question.path("id").asText(), "x".repeat(1_000));

    for (int i = 0; i < 3; i++) {
      elsewhere(client).send(reply);
    }

    assertThat(bus.published).hasSize(1);
    assertThat(bus.published.get(0).toString()).contains("decline").doesNotContain("xxx");
  }

  @Test
  void onlyIdsOfRequestsAreCancelled() {
    Wired client = ada();
    for (String id : List.of("{\"a\":1}", "[1]", "null", "true")) {
      client.send(
          """
          {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}"""
              .formatted(id));
    }

    assertThat(bus.published).isEmpty();
  }

  @Test
  void aServerThatHasClosedReceivesNothing() {
    assertThat(bus.receivers()).isEqualTo(2);
    other.close();
    assertThat(bus.receivers()).isEqualTo(1);
  }
}

package io.fermata.mcp.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import java.util.Collections;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The server as clients of the revisions with a handshake see it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LegacyEraTest {
  private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}";

  private final FakeHost host = new FakeHost();
  private McpServer server;

  @BeforeAll
  void start() {
    server = McpServer.serving(host).name("fake").version("3").port(0).start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Wired client() {
    return new Wired(server);
  }

  private Wired.Said initialize(String version) {
    return client()
        .request("initialize", "\"protocolVersion\":\"" + version + "\",\"capabilities\":{}");
  }

  private String session() {
    return initialize("2025-11-25").raw().headers().firstValue("Mcp-Session-Id").orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({
    "2025-03-26,2025-03-26",
    "2025-06-18,2025-06-18",
    "2025-11-25,2025-11-25",
    "2024-11-05,2025-11-25",
    "2026-07-28,2025-11-25",
    "2099-01-01,2025-11-25"
  })
  void theHandshakeAgreesOnAVersion(String requested, String agreed) {
    Wired.Said said = initialize(requested);

    assertThat(said.status()).isEqualTo(200);
    assertThat(said.result().path("protocolVersion").asText()).isEqualTo(agreed);
    assertThat(said.result().at("/serverInfo/name").asText()).isEqualTo("fake");
    assertThat(said.raw().headers().firstValue("Mcp-Session-Id"))
        .hasValueSatisfying(
            id -> assertThat(host.handles().minted(id.substring(0, id.indexOf('.')))).isTrue());
  }

  @Test
  void aSessionReachesTheCall() {
    String session = session();

    JsonNode structured =
        client()
            .with("Mcp-Session-Id", session)
            .with("MCP-Protocol-Version", "2025-11-25")
            .request("tools/call", "\"name\":\"echo\"")
            .result()
            .path("structuredContent");

    assertThat(structured.path("transportSession").asText()).isEqualTo(session);
  }

  @Test
  void aCallNeedsNoSession() {
    assertThat(client().request("tools/call", "\"name\":\"echo\"").status()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({
    "resources/subscribe,\"uri\":\"test://a\"",
    "resources/unsubscribe,\"uri\":\"test://a\"",
    "logging/setLevel,\"level\":\"debug\"",
  })
  void whatAClientChoosesNeedsASessionThatKeepsIt(String method, String params) {
    Wired.Said alone = client().request(method, params);
    assertThat(alone.status()).isEqualTo(404);
    assertThat(alone.message()).contains("initialize");

    Wired.Said kept = client().with("Mcp-Session-Id", session()).request(method, params);
    assertThat(kept.result()).isEqualTo(Json.object());
  }

  @Test
  void aSessionSurvivesARestartOfTheServer() {
    String session = session();
    try (McpServer restarted = McpServer.serving(new FakeHost()).port(0).start()) {
      assertThat(new Wired(restarted).with("Mcp-Session-Id", session).request("ping", "").status())
          .isEqualTo(200);
    }
  }

  @Test
  void aSessionOfNobodyIsNotFound() {
    Wired.Said said = client().with("Mcp-Session-Id", "made-up").request("tools/list", "");

    assertThat(said.status()).isEqualTo(404);
    assertThat(said.message()).contains("initialize");
  }

  @Test
  void anEndedSessionIsNotFound() {
    String session = session();
    Wired ending = client().with("Mcp-Session-Id", session).method("DELETE");

    assertThat(ending.send("").status()).isEqualTo(204);
    assertThat(ending.send("").status()).isEqualTo(404);
    assertThat(client().with("Mcp-Session-Id", session).request("ping", "").status())
        .isEqualTo(404);
    Wired.Said unnamed = client().method("DELETE").send("");
    assertThat(unnamed.status()).isEqualTo(405);
    assertThat(unnamed.message()).contains("Mcp-Session-Id is missing");
    assertThat(client().method("GET").send("").message()).contains("POST", "Mcp-Session-Id");
  }

  @Test
  void pingIsAnswered() {
    assertThat(client().request("ping", "").result().isObject()).isTrue();
  }

  @Test
  void notificationsAndResponsesAreAccepted() {
    for (String message :
        new String[] {
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
          "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
        }) {
      assertThat(client().send(message).status()).isEqualTo(202);
    }
  }

  @Test
  void anUnsupportedVersionHeaderIsRefused() {
    Wired.Said said = client().with("MCP-Protocol-Version", "1999-01-01").request("ping", "");

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.body().at("/error/data/supported")).hasSize(4);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "DELETE"})
  void anUnsupportedVersionHeaderIsRefusedByEveryMethod(String method) {
    Wired client = client().with("Mcp-Session-Id", session()).method(method);

    Wired.Said said = client.with("MCP-Protocol-Version", "1999-01-01").send("");

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.body().at("/error/data/supported")).hasSize(4);
    assertThat(client().with("Mcp-Session-Id", client.header("Mcp-Session-Id")).request("ping", ""))
        .returns(200, Wired.Said::status);
  }

  @Test
  void aResponseOfNoSessionOrRevisionIsRefused() {
    String response = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    String session = session();
    Wired client = client().with("Mcp-Session-Id", session);
    assertThat(client.send(response).status()).isEqualTo(202);
    assertThat(client.with("MCP-Protocol-Version", "1999-01-01").send(response).status())
        .isEqualTo(400);

    client.without("MCP-Protocol-Version").method("DELETE").send("");

    assertThat(client.method("POST").send(response).status()).isEqualTo(404);
    assertThat(client().with("Mcp-Session-Id", "made-up").send(response).status()).isEqualTo(404);
  }

  @Test
  void theFirstRevisionKnowsNoStructure() {
    JsonNode tool = client().request("tools/list", "").result().at("/tools/0");
    JsonNode result = client().request("tools/call", "\"name\":\"noop\"").result();

    assertThat(tool.has("title")).isFalse();
    assertThat(tool.has("outputSchema")).isFalse();
    assertThat(tool.at("/annotations/title").asText()).isEqualTo("The noop");
    assertThat(result.has("structuredContent")).isFalse();
    assertThat(result.at("/content/0/text").asText()).isEqualTo("{\"status\":\"complete\"}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"2025-06-18", "2025-11-25"})
  void laterRevisionsKnowStructureAndNoModernFields(String version) {
    Wired client = client().with("MCP-Protocol-Version", version);
    JsonNode list = client.request("tools/list", "").result();
    JsonNode result = client.request("tools/call", "\"name\":\"noop\"").result();

    assertThat(list.at("/tools/0/title").asText()).isEqualTo("The noop");
    assertThat(list.at("/tools/0").has("outputSchema")).isTrue();
    assertThat(list.has("ttlMs")).isFalse();
    assertThat(result.at("/structuredContent/status").asText()).isEqualTo("complete");
    assertThat(result.has("resultType")).isFalse();
  }

  @Test
  void anUnknownResourceHasTheCodeOfItsTime() {
    Wired.Said said = client().request("resources/read", "\"uri\":\"ui://no\"");
    assertThat(said.code()).isEqualTo(-32002);
    assertThat(said.message()).contains("ui://no", "resources/list");
  }

  @Test
  void anUnknownMethodIsAnsweredInBand() {
    Wired.Said said = client().request("no/such", "");

    assertThat(said.status()).isEqualTo(200);
    assertThat(said.code()).isEqualTo(-32601);
  }

  @Test
  void jsonAloneIsAcceptable() {
    assertThat(client().with("Accept", "application/json").request("ping", "").status())
        .isEqualTo(200);
    assertThat(client().with("Accept", "text/html").request("ping", "").status()).isEqualTo(406);
  }

  @Test
  void aBatchIsAnsweredAsOne() {
    Wired.Said said =
        client()
            .send(
                "[%s,{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},3,%s]"
                    .formatted(PING.formatted(1), PING.formatted(2)));

    assertThat(said.status()).isEqualTo(200);
    assertThat(said.body()).hasSize(3);
    assertThat(said.body().findValuesAsText("id")).containsExactly("1", "2");
  }

  @Test
  void aBatchOfNotificationsIsAccepted() {
    assertThat(client().send("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]").status())
        .isEqualTo(202);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
      })
  void aBatchInAnEndedSessionIsNotFound(String message) {
    Wired client = client().with("Mcp-Session-Id", session());
    client.method("DELETE").send("");

    Wired.Said said = client.method("POST").send("[" + message + "," + message + "]");

    assertThat(said.status()).isEqualTo(404);
    assertThat(said.body()).hasSize(2);
    assertThat(said.body().at("/0/error/message").asText()).contains("initialize");
  }

  @Test
  void aBatchHasABound() {
    String ping = PING.formatted(1);
    assertThat(client().send(Collections.nCopies(50, ping).toString()).body()).hasSize(50);
    assertThat(client().send(Collections.nCopies(51, ping).toString()).code()).isEqualTo(-32600);
    assertThat(client().send("[]").code()).isEqualTo(-32600);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2025-06-18", "2025-11-25", "2026-07-28"})
  void otherRevisionsKnowNoBatches(String version) {
    Wired.Said said =
        client().with("MCP-Protocol-Version", version).send("[" + PING.formatted(1) + "]");

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32600);
  }

  @Test
  void theHandshakeIsNotBatched() {
    Wired.Said said =
        client()
            .send(
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                    + "\"params\":{\"protocolVersion\":\"2025-03-26\"}}]");

    assertThat(said.body().at("/0/error/code").asInt()).isEqualTo(-32600);
  }
}

package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The server as clients of revision 2026-07-28 see it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ModernEraTest {
  private final FakeHost host = new FakeHost();
  private McpServer server;

  @BeforeAll
  void start() {
    server =
        McpServer.serving(host).name("fake").version("3").instructions("Be kind.").port(0).start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Wired client() {
    return new Wired(server);
  }

  @Test
  void discoverySaysWhatTheServerCanDo() {
    JsonNode result = client().modern("server/discover", "").result();

    assertThat(result.path("resultType").asText()).isEqualTo("complete");
    assertThat(result.at("/supportedVersions/0").asText()).isEqualTo("2026-07-28");
    assertThat(result.path("capabilities").has("tools")).isTrue();
    assertThat(result.path("instructions").asText())
        .isEqualTo("Be kind.\n\n## How echoes are called");
    assertThat(result.path("ttlMs").asLong()).isPositive();
    assertThat(result.path("cacheScope").asText()).isEqualTo("public");
    assertThat(result.path("_meta").path("io.modelcontextprotocol/serverInfo"))
        .isEqualTo(Wired.JSON.createObjectNode().put("name", "fake").put("version", "3"));
  }

  @Test
  void toolsAreListedInOrderWithTheirContracts() {
    JsonNode result = client().modern("tools/list", "").result();

    assertThat(result.path("tools").findValuesAsText("name"))
        .containsExactly(
            "noop", "echo", "slow", "working", "wrong", "failing", "throwing", "show_plans");
    JsonNode flow = result.at("/tools/0");
    assertThat(flow.path("title").asText()).isEqualTo("The noop");
    assertThat(flow.at("/inputSchema/type").asText()).isEqualTo("object");
    assertThat(flow.at("/outputSchema/type").asText()).isEqualTo("object");
    assertThat(result.path("ttlMs").isIntegralNumber()).isTrue();
  }

  @Test
  void hintsOfTheAuthorAreAnnotations() {
    JsonNode tools = client().modern("tools/list", "").result().path("tools");

    assertThat(tools.at("/0/annotations").toString()).isEqualTo("{\"readOnlyHint\":false}");
    assertThat(tools.at("/1/annotations").toString())
        .isEqualTo(
            "{\"readOnlyHint\":false,\"destructiveHint\":false,\"idempotentHint\":true,"
                + "\"openWorldHint\":false}");
  }

  @Test
  void aDisplayToolNamesItsPageInEveryDialect() {
    JsonNode display = client().modern("tools/list", "").result().path("tools").path(7);

    String page = "ui://fermata/show_plans.html";
    assertThat(display.at("/_meta/ui/resourceUri").asText()).isEqualTo(page);
    assertThat(display.path("_meta").path("ui/resourceUri").asText()).isEqualTo(page);
    assertThat(display.path("_meta").path("openai/outputTemplate").asText()).isEqualTo(page);
    assertThat(display.has("outputSchema")).isFalse();
  }

  @Test
  void aFlowIsCalledWithWhatTheClientSaid() {
    JsonNode result =
        client()
            .with("Mcp-Name", "echo")
            .with("Mcp-Session-Id", "ignored")
            .modern("tools/call", "\"name\":\"echo\",\"arguments\":{\"a\":1.50}")
            .result();

    JsonNode structured = result.path("structuredContent");
    assertThat(structured.path("principal").asText()).isEqualTo("local");
    assertThat(structured.at("/arguments/a").asText()).isEqualTo("1.5");
    assertThat(structured.path("meta").has("io.modelcontextprotocol/protocolVersion")).isTrue();
    assertThat(structured.path("transportSession").isNull()).isTrue();
    assertThat(result.at("/content/0/text").asText()).contains("\"a\":1.50");
    assertThat(result.path("isError").asBoolean(true)).isFalse();
    assertThat(result.at("/_meta/fermata~1run/flow").asText()).isEqualTo("echo");
    assertThat(result.path("resultType").asText()).isEqualTo("complete");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"verbose\"", "7", "null"})
  void anUnknownLogLevelIsRefused(String level) {
    Wired client = client();
    String message =
        client
            .modernMessage("tools/list", "", "\"x\":1", "{}")
            .replace(
                "\"_meta\":{", "\"_meta\":{\"io.modelcontextprotocol/logLevel\":" + level + ",");

    Wired.Said said = client.send(message);

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32602);
    assertThat(said.message()).contains("logLevel", "debug");
  }

  @Test
  void anErrorOfTheFlowIsAToolError() {
    Wired.Said said = call("wrong", "");

    assertThat(said.status()).isEqualTo(200);
    assertThat(said.result().path("isError").asBoolean()).isTrue();
    assertThat(said.result().at("/structuredContent/code").asText()).isEqualTo("handler_failed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"failing", "throwing"})
  void whatGoesWrongInsideStaysInside(String tool) {
    Wired.Said said = call(tool, "");

    assertThat(said.status()).isEqualTo(500);
    assertThat(said.code()).isEqualTo(-32603);
    assertThat(said.body().toString()).doesNotContain("secret");
    assertThat(said.body().path("id").asInt()).isEqualTo(7);
  }

  @Test
  void aDisplayToolAnswersWithTheDataItWasGiven() {
    Wired.Said said = call("show_plans", ",\"arguments\":{\"price\":30}");

    assertThat(said.result().at("/structuredContent/price").asInt()).isEqualTo(30);
    assertThat(said.result().at("/content/0/text").asText()).contains("Plans", "30");
  }

  @Test
  void aDisplayToolSaysWhatIsWrongWithItsData() {
    Wired.Said said = call("show_plans", ",\"arguments\":{\"price\":\"dear\"}");

    assertThat(said.result().path("isError").asBoolean()).isTrue();
    assertThat(said.result().at("/content/0/text").asText()).contains("price");
  }

  @ParameterizedTest
  @ValueSource(strings = {"echo", "show_plans"})
  void argumentsMustBeAnObject(String tool) {
    assertThat(call(tool, ",\"arguments\":[1]").code()).isEqualTo(-32602);
    assertThat(call(tool, ",\"arguments\":null").code()).isEqualTo(-32602);
  }

  @Test
  void anUnknownToolIsNamed() {
    Wired.Said said = call("nope", "");

    assertThat(said.code()).isEqualTo(-32602);
    assertThat(said.message()).isEqualTo("Unknown tool: nope; did you mean noop?");
    assertThat(call("something_else", "").message())
        .isEqualTo("Unknown tool: something_else; tools/list lists the tools.");
  }

  @Test
  void aHandshakeOfTheModernRevisionIsReferredToDiscovery() {
    assertThat(client().modern("initialize", "").message()).contains("server/discover");
    assertThat(client().modern("ping", "").message()).isEqualTo("Method not found: ping");
  }

  @Test
  void aToolNeedsAName() {
    assertThat(client().modern("tools/call", "\"arguments\":{}").code()).isEqualTo(-32602);
  }

  private Wired.Said call(String tool, String more) {
    return client().with("Mcp-Name", tool).modern("tools/call", "\"name\":\"" + tool + "\"" + more);
  }

  @Test
  void pagesAreListedAndReadWithTheirPolicy() {
    JsonNode listed = client().modern("resources/list", "").result().at("/resources/0");
    String uri = listed.path("uri").asText();
    JsonNode result =
        client().with("Mcp-Name", uri).modern("resources/read", "\"uri\":\"" + uri + "\"").result();

    JsonNode page = result.at("/contents/0");
    assertThat(result.path("contents")).hasSize(1);
    assertThat(page.path("mimeType").asText()).isEqualTo("text/html;profile=mcp-app");
    assertThat(page.path("text").asText()).isEqualTo(FakeHost.PAGE);
    assertThat(page.at("/_meta/ui/csp/connectDomains").isArray()).isTrue();
    assertThat(page.at("/_meta/ui/prefersBorder").asBoolean()).isTrue();
    assertThat(page.path("_meta").has("openai/widgetCSP")).isTrue();
    assertThat(result.path("ttlMs").isIntegralNumber()).isTrue();
  }

  @Test
  void thereAreNoTemplates() {
    assertThat(client().modern("resources/templates/list", "").result().path("resourceTemplates"))
        .isEmpty();
  }

  @Test
  void anUnknownResourceIsNamed() {
    Wired.Said said =
        client().with("Mcp-Name", "ui://no").modern("resources/read", "\"uri\":\"ui://no\"");

    assertThat(said.code()).isEqualTo(-32602);
    assertThat(said.body().at("/error/data/uri").asText()).isEqualTo("ui://no");
  }

  @ParameterizedTest
  @ValueSource(strings = {"tools/list", "resources/list", "resources/templates/list"})
  void aCursorThatWasNeverHandedOutIsRefused(String method) {
    assertThat(client().modern(method, "\"cursor\":\"x\"").code()).isEqualTo(-32602);
  }

  @ParameterizedTest
  @ValueSource(strings = {"nothing/such", "initialize", "ping", "logging/setLevel"})
  void anUnknownOrRemovedMethodIsNotFound(String method) {
    Wired.Said said = client().modern(method, "");

    assertThat(said.status()).isEqualTo(404);
    assertThat(said.code()).isEqualTo(-32601);
    assertThat(said.body().path("id").asInt()).isEqualTo(7);
  }

  @Test
  void aRequestMustDeclareItsVersionAndCapabilities() {
    for (String meta :
        List.of(
            "",
            "\"_meta\":{}",
            "\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{}}",
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}")) {
      Wired.Said said =
          client()
              .with("MCP-Protocol-Version", "2026-07-28")
              .with("Mcp-Method", "tools/list")
              .request("tools/list", meta);

      assertThat(said.status()).isEqualTo(400);
      assertThat(said.code()).isEqualTo(-32602);
    }
  }

  @Test
  void discoveryWithoutMetaIsNotTakenForLegacy() {
    Wired.Said said = client().request("server/discover", "");

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32602);
  }

  @Test
  void anUnsupportedVersionIsAnsweredWithTheSupportedOnes() {
    Wired.Said said =
        client()
            .with("MCP-Protocol-Version", "1900-01-01")
            .request("tools/list", Wired.META.replace("2026-07-28", "1900-01-01"));

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32022);
    assertThat(said.body().at("/error/data/requested").asText()).isEqualTo("1900-01-01");
    assertThat(said.body().at("/error/data/supported/0").asText()).isEqualTo("2026-07-28");
  }

  @Test
  void headersMustBeThereAndSayWhatTheBodySays() {
    String list = "tools/list";
    expectMismatch(client().with("Mcp-Method", list).request(list, Wired.META));
    expectMismatch(
        client()
            .with("Mcp-Method", list)
            .with("MCP-Protocol-Version", "2025-11-25")
            .request(list, Wired.META));
    Wired versioned = client().with("MCP-Protocol-Version", "2026-07-28");
    expectMismatch(versioned.request(list, Wired.META));
    expectMismatch(versioned.with("Mcp-Method", "TOOLS/LIST").request(list, Wired.META));
    expectMismatch(client().modern("tools/call", "\"name\":\"echo\""));
    expectMismatch(client().with("Mcp-Name", "noop").modern("tools/call", "\"name\":\"echo\""));
  }

  private static void expectMismatch(Wired.Said said) {
    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32020);
  }

  @Test
  void aNameMayBeMirroredInBase64() {
    String encoded = Base64.getEncoder().encodeToString("echo".getBytes(StandardCharsets.UTF_8));

    Wired.Said said =
        client()
            .with("Mcp-Name", "=?base64?" + encoded + "?=")
            .modern("tools/call", "\"name\":\"echo\"");

    assertThat(said.status()).isEqualTo(200);
    expectMismatch(
        client().with("Mcp-Name", "=?base64?%%?=").modern("tools/call", "\"name\":\"echo\""));
    expectMismatch(
        client().with("Mcp-Name", "=?base64?=").modern("tools/call", "\"name\":\"echo\""));
  }

  @Test
  void aNotificationIsAccepted() {
    Wired.Said said =
        client()
            .with("MCP-Protocol-Version", "2026-07-28")
            .send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");

    assertThat(said.status()).isEqualTo(202);
    assertThat(said.raw().body()).isEmpty();
  }

  @Test
  void aResponseIsRefused() {
    Wired.Said said =
        client()
            .with("MCP-Protocol-Version", "2026-07-28")
            .send("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");

    assertThat(said.status()).isEqualTo(400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "DELETE", "PUT", "OPTIONS"})
  void onlyPostIsServed(String method) {
    Wired.Said said =
        client()
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Session-Id", host.handles().mint())
            .method(method)
            .send("");

    assertThat(said.status()).isEqualTo(405);
    assertThat(said.raw().headers().firstValue("Allow"))
        .hasValueSatisfying(allow -> assertThat(allow).contains("POST"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"application/json", "text/event-stream", "text/html"})
  void bothKindsOfAnswersMustBeAcceptable(String accept) {
    assertThat(client().with("Accept", accept).modern("tools/list", "").status()).isEqualTo(406);
  }
}

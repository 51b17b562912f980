package io.fermata.mcp;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpBody;
import io.fermata.mcp.feature.McpContent;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.settings.OAuth;
import java.io.IOException;
import java.net.BindException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Which servers start, and which callers they admit. */
class StartTest {
  private final FakeHost host = new FakeHost();

  @Test
  void aServerSaysWhereItIs() {
    try (McpServer server = McpServer.serving(host).port(0).start()) {
      assertThat(server.port()).isPositive();
      assertThat(server.endpoint()).hasToString("http://localhost:" + server.port() + "/mcp");
    }
  }

  @Test
  void aServerWithoutAVersionOfItsOwnHasThatOfFermata() throws IOException {
    Matcher version =
        Pattern.compile("<version>([^<]+)</version>").matcher(Files.readString(Path.of("pom.xml")));
    assertThat(version.find()).isTrue();
    try (McpServer server = McpServer.serving(host).port(0).start()) {
      assertThat(
              new Wired(server)
                  .request("initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}")
                  .result()
                  .at("/serverInfo/version")
                  .asText())
          .isEqualTo(version.group(1));
    }
  }

  @Test
  void aClosedServerFreesItsPort() {
    McpServer first = McpServer.serving(host).port(0).start();
    first.close();
    first.close();
    try (McpServer second = McpServer.serving(host).port(first.port()).start()) {
      assertThat(new Wired(second).request("ping", "").status()).isEqualTo(200);
    }
  }

  @Test
  void anOpenAddressNeedsAuthentication() {
    assertThatThrownBy(() -> McpServer.serving(host).address("0.0.0.0").port(0).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("0.0.0.0")
        .hasMessageContaining("add an API key");
  }

  @Test
  void aPermissionNeedsAPrincipalThatCanAuthenticate() {
    assertThatThrownBy(() -> McpServer.serving(host).operators(" "))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("operators names an empty principal");
    assertThatThrownBy(() -> McpServer.serving(host).port(0).operators("ops").start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("without keys and tokens every caller is local");
    assertThatThrownBy(
            () -> McpServer.serving(host).port(0).apiKey("ann", "k").instructors("anne").start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("instructors names anne, who cannot authenticate here");
    OAuth tokens = OAuth.issuer("http://localhost:1").audience("https://flows.example.com/mcp");
    assertThatThrownBy(
            () -> McpServer.serving(host).port(0).oauth(tokens).operators("http://x#7").start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("http://localhost:1#<sub>");
    McpServer.serving(host).port(0).operators("local").start().close();
    McpServer.serving(host).port(0).apiKey("ann", "k").operators("ann").start().close();
    McpServer.serving(host).port(0).oauth(tokens).operators("http://localhost:1#7").start().close();
  }

  @Test
  @SuppressWarnings("NullAway") // what callers without it may do
  void whatIsNullIsRefusedByItsName() {
    Map<String, Runnable> calls =
        Map.ofEntries(
            entry("host", () -> McpServer.serving(null)),
            entry("name", () -> McpServer.plain().name(null)),
            entry("threads", () -> McpServer.plain().threads(null)),
            entry("operators", () -> McpServer.plain().operators((String) null)),
            entry("key", () -> McpServer.plain().apiKey("ann", null)),
            entry("perPrincipal", () -> McpServer.plain().perPrincipal(limits -> null)),
            entry("issuer", () -> OAuth.issuer(null)),
            entry("tool", () -> McpServer.plain().tool(null)),
            entry("call", () -> McpTool.of("add", "Adds.").call(null)),
            entry("text", () -> McpContent.text(null)),
            entry("reading", () -> McpResource.text("a://b", "B", "text/plain", null)),
            entry("get", () -> McpPrompt.of("ask", "Asks.").get(null)),
            entry("in", () -> McpServer.plain().stdio(null, System.out)));
    calls.forEach(
        (name, call) ->
            assertThatThrownBy(call::run)
                .as(name)
                .isInstanceOf(NullPointerException.class)
                .hasMessage(name));
  }

  @Test
  void whatNoClientCouldUseIsRefusedWithTheReason() {
    assertThatThrownBy(() -> McpPrompt.of("ask", "Asks.").required("q", "").optional("q", ""))
        .hasMessage("The prompt ask has two arguments named q: rename one");
    assertThatThrownBy(
            () ->
                McpTemplate.of("t://{a}/{a}", "T", "text/plain", call -> McpBody.text("", "", "")))
        .hasMessage("The template \"t://{a}/{a}\" has a variable twice: rename one");
    assertThatThrownBy(() -> McpResource.text("today", "Today", "text/plain", () -> ""))
        .hasMessage("\"today\" is not a URI with a scheme, such as orders://today");
    assertThatThrownBy(() -> McpAsk.page("Pay here.", "javascript:alert(1)"))
        .hasMessageContaining("is not an address to open, such as https://example.com/pay");
    assertThatThrownBy(() -> McpAsk.model("Sum it up.", 0))
        .hasMessage("maxTokens must be at least 1, not 0");
  }

  @Test
  void aPrincipalMayHaveAtLeastOneStream() {
    assertThatThrownBy(() -> McpServer.plain().maxStreams(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("maxStreams must be at least 1, not 0");
  }

  @Test
  void aTimeoutIsNotNegative() {
    assertThatThrownBy(() -> McpServer.serving(host).idleTimeout(Duration.ofMillis(-1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("idleTimeout");
    assertThatThrownBy(() -> McpServer.serving(host).requestTimeout(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("requestTimeout");
  }

  @Test
  void aPortInUseIsNamed() {
    try (McpServer server = McpServer.serving(host).port(0).start()) {
      assertThatThrownBy(() -> McpServer.serving(host).port(server.port()).start())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("port " + server.port())
          .hasCauseInstanceOf(BindException.class);
    }
  }

  @Test
  void aPortThatTheProcessMayNotUseIsNotCalledInUse() {
    assertThat(McpServerBuilder.whyNotListening(new BindException("Permission denied")))
        .contains("may not use the port", "below 1024", "choose another port")
        .doesNotContain("in use", "other server");
    assertThat(McpServerBuilder.whyNotListening(new BindException("Address already in use")))
        .contains("the port is in use", "stop the other server");
  }

  @Test
  void withKeysNobodyComesInWithoutOne() {
    try (McpServer server =
        McpServer.serving(host)
            .port(0)
            .apiKey("ann", "key-of-ann")
            .apiKey("bob", "key-of-bob")
            .start()) {
      Wired.Said none = new Wired(server).request("ping", "");
      assertThat(none.status()).isEqualTo(401);
      assertThat(none.raw().headers().firstValue("WWW-Authenticate")).hasValue("Bearer");

      Wired.Said wrong = new Wired(server).with("Authorization", "Bearer nope").request("ping", "");
      assertThat(wrong.status()).isEqualTo(401);
      assertThat(wrong.raw().headers().firstValue("WWW-Authenticate"))
          .hasValue("Bearer error=\"invalid_token\"");

      Wired.Said bob =
          new Wired(server)
              .with("Authorization", "bearer key-of-bob")
              .with("MCP-Protocol-Version", "2025-11-25")
              .request("tools/call", "\"name\":\"echo\"");
      assertThat(bob.result().at("/structuredContent/principal").asText()).isEqualTo("bob");
    }
  }

  @Test
  void callsInFlightFinishBeforeTheServerCloses() throws Exception {
    McpServer server = McpServer.serving(host).port(0).start();
    var call =
        CompletableFuture.supplyAsync(
            () -> new Wired(server).request("tools/call", "\"name\":\"working\""),
            task -> new Thread(task).start());
    FakeHost.Work work = host.work();
    var closing = CompletableFuture.runAsync(server::close, task -> new Thread(task).start());
    while (new Wired(server).method("GET").sendTo("/health/ready").status() == 200) {
      Thread.sleep(5);
    }
    assertThat(closing).isNotDone();
    work.ends();

    assertThat(call.get().status()).isEqualTo(200);
    closing.get();
  }
}

package io.fermata.agent.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.OutcomeUnknownException;
import io.fermata.agent.Tool;
import io.fermata.agent.engine.Rig;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.json.Json;
import io.fermata.ports.Ports;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tools that live in MCP servers, over real sockets and pipes. */
@Timeout(60)
@Tag("slow")
class McpToolsTest {
  private final Rig rig = new Rig("c7");
  private ShopServer server;

  @BeforeEach
  void start() throws IOException {
    // Nobody gets its port while it is away.
    server = ShopServer.on(Ports.free());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static Tool tool(McpTools source, String name) throws InterruptedException {
    return source.tools().stream().filter(t -> t.name().equals(name)).findFirst().orElseThrow();
  }

  private static ObjectNode how(String how) {
    return Json.object().put("how", how);
  }

  private ToolResult say(Tool say, String how) throws Exception {
    return rig.call(say, how(how));
  }

  private CompletableFuture<ToolResult> called(Tool say, String how) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return say(say, how);
          } catch (Exception e) {
            throw new CompletionException(e);
          }
        });
  }

  @Test
  void allPagesOfTheListAreOffered() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url()).prefix("shop_")) {
      List<Tool> tools = shop.tools();

      assertThat(tools)
          .extracting(Tool::name)
          .containsExactly("shop_find", "shop_pay_back", "shop_say");
      assertThat(tools)
          .extracting(Tool::description)
          .containsExactly("Finds.", "Pay back", "Says.");
      assertThat(tools.get(0).arguments().json().at("/required/0").asText()).isEqualTo("name");
      assertThat(server.next("initialize").at("/params/capabilities")).isEmpty();
    }
  }

  @Test
  void aCallBringsTheWordsOfTheAnswer() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      ObjectNode arguments = (ObjectNode) Json.parse("{\"name\":\"Ann\",\"price\":0.10}");

      ToolResult found = rig.call(tool(shop, "find"), arguments);

      assertThat(found).isEqualTo(ToolResult.success("found\ncard: shop://card"));
      JsonNode call = server.next("tools/call");
      assertThat(Json.text(call.at("/params/arguments")))
          .isEqualTo("{\"name\":\"Ann\",\"price\":0.10}");
      assertThat(call.at("/params/_meta")).hasToString("{\"fermata/callId\":\"t1/c7\"}");
    }
  }

  @Test
  void anAnswerWithoutWordsBringsItsStructure() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      assertThat(rig.call(tool(shop, "pay_back"), Json.object()).text())
          .isEqualTo("{\"paid\":\"t1/c7\"}");
      assertThat(say(tool(shop, "say"), "nothing")).isEqualTo(ToolResult.success(null));
    }
  }

  @Test
  void picturesAreAttached() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      ToolResult result = say(tool(shop, "say"), "in pictures");

      assertThat(result.text()).isEqualTo("ad\n(image-2.png cannot be decoded)");
      assertThat(result.attachments())
          .singleElement()
          .satisfies(file -> assertThat(file.data()).containsExactly(1, 2, 3))
          .extracting(Attachment::name, Attachment::mimeType)
          .containsExactly("image-1.png", "image/png");
    }
  }

  @Test
  void theModelLearnsWhatTheServerCallsAnError() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");

      assertThat(say(say, "badly")).isEqualTo(ToolResult.error("no"));
      assertThat(say(say, "backwards"))
          .isEqualTo(ToolResult.error("Nobody can say it like backwards"));
    }
  }

  @Test
  void argumentsThatDoNotFitAreNotSent() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      ToolResult result = rig.call(tool(shop, "find"), Json.object().put("name", 7));

      assertThat(result.code()).isEqualTo("invalid_arguments");
      assertThat(server.received).noneMatch(m -> m.path("method").asText().equals("tools/call"));
    }
  }

  @Test
  void aServerThatWasRestartedIsConnectedToAgain() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");
      assertThat(say(say, "well").text()).isEqualTo("well");
      int port = server.port();
      server.close();
      server = ShopServer.on(port);

      assertThat(say(say, "well").text()).isEqualTo("well");
      assertThat(say(say, "well").text()).isEqualTo("well");
    }
  }

  @Test
  void aServerThatIsAwayIsNamedAndTriedAgainByTheNextCall() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");
      int port = server.port();
      server.close();

      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> say(say, "well"))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContainingAll(
                "The MCP server shop cannot be reached at", "" + port, "Start");
      }

      server = ShopServer.on(port);
      assertThat(say(say, "well").text()).isEqualTo("well");
    }
  }

  @Test
  void anAnswerThatBreaksOffLeavesTheOutcomeUnknown() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");

      assertThatThrownBy(() -> say(say, "hang up"))
          .isInstanceOf(OutcomeUnknownException.class)
          .hasMessageContaining("The MCP server shop disconnected");
      assertThat(say(say, "well").text()).isEqualTo("well");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {401, 403})
  void aCallWhoseCredentialsAreRefusedHasFailedForThatReasonAndMayBeRepeated(int status)
      throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");
      server.next("initialize");
      server.refuseCredentials(status);

      assertThatThrownBy(() -> say(say, "well"))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll(
              "The MCP server shop refused the credentials",
              "HTTP " + status,
              "invalid_token",
              "Correct its token");

      server.acceptCredentials();
      assertThat(say(say, "well").text()).isEqualTo("well");
      assertThat(server.received).noneMatch(m -> m.path("method").asText().equals("initialize"));
    }
  }

  @Test
  void aServerThatRefusesTheCredentialsAtTheStartIsNotCalledUnreachable() {
    server.refuseCredentials(401);
    try (McpTools shop = McpTools.http("shop", server.url())) {
      assertThatThrownBy(shop::tools)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll("refused the credentials", "HTTP 401")
          .hasMessageNotContaining("reached");
    }
  }

  @Test
  void aCallThatIsNotWantedAnyMoreIsCancelledAndOthersContinue() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");
      CompletableFuture<Throwable> ended = new CompletableFuture<>();
      Thread caller =
          new Thread(
              () -> {
                try {
                  say(say, "never");
                } catch (Exception e) {
                  ended.complete(e);
                }
              });
      caller.start();
      JsonNode call = server.next("tools/call");

      caller.interrupt();

      assertThat(ended.get()).isInstanceOf(InterruptedException.class);
      assertThat(server.next("notifications/cancelled").at("/params/requestId"))
          .isEqualTo(call.get("id"));
      assertThat(say(say, "well").text()).isEqualTo("well");
      assertThat(server.received).noneMatch(m -> m.path("method").asText().equals("initialize"));
    }
  }

  @Test
  void aCallThatTheServerMayHaveStartedIsNotSentAgainWhenItRejectsTheSessionOfAnother()
      throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url())) {
      Tool say = tool(shop, "say");
      CompletableFuture<ToolResult> started = called(say, "never");
      server.next("tools/call");
      server.forgetSessions();

      assertThat(saidOrCutOff(say)).isIn("well", "cut off");

      assertThat(started)
          .failsWithin(Duration.ofSeconds(20))
          .withThrowableOfType(ExecutionException.class)
          .withCauseInstanceOf(OutcomeUnknownException.class)
          .withMessageContaining("its session was closed");
      assertThat(server.received)
          .noneMatch(m -> m.at("/params/arguments/how").asText().equals("never"));
    }
  }

  /** The SDK may drop the call that it learns by that its session is gone. */
  private String saidOrCutOff(Tool say) throws Exception {
    try {
      return String.valueOf(say(say, "well").text());
    } catch (OutcomeUnknownException e) {
      return "cut off";
    }
  }

  @Test
  void aCallThatHasEndedLeavesNothingInItsConnection() throws Exception {
    Line line = new Line(Server.Http.at(server.url()).transport(Duration.ofSeconds(5)));
    Connection connection = new Connection(line, Duration.ofSeconds(5));
    connection.open();
    connection.tools(Duration.ofSeconds(5));
    int broken = line.broken().getNumberOfDependents();

    for (int i = 0; i < 20; i++) {
      connection.call(
          McpSchema.CallToolRequest.builder("say").arguments(Map.of("how", "well")).build());
    }

    assertThat(line.broken().getNumberOfDependents()).isEqualTo(broken);
    connection.closeNow();
  }

  @Test
  void closingTheToolsFailsTheCallsInProgress() throws Exception {
    McpTools shop = McpTools.http("shop", server.url());
    Tool say = tool(shop, "say");
    CompletableFuture<ToolResult> called = called(say, "never");
    server.next("tools/call");

    shop.close();

    assertThatThrownBy(called::get)
        .hasCauseInstanceOf(OutcomeUnknownException.class)
        .hasMessageContaining("the tools were closed");
  }

  @Test
  void withoutItsServerThereIsAClearErrorAtTheStart() throws Exception {
    String url = server.url();
    server.close();
    try (McpTools shop = McpTools.http("shop", url);
        McpTools perhaps = shop.optional()) {
      assertThatThrownBy(shop::tools)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll(
              "The MCP server shop cannot be reached at " + url,
              "Start it, or correct its address.");
      assertThat(perhaps.tools()).isEmpty();
    }
  }

  @Test
  void whatMayBeSecretInAnAddressIsInNoMessage() {
    String url = server.url().replace("://", "://ann:s3cret@") + "?apiKey=s3cret";
    String plain = server.url();
    server.close();
    try (McpTools shop = McpTools.http("shop", url)) {
      assertThatThrownBy(shop::tools)
          .hasMessageContaining("cannot be reached at " + plain + "?…:")
          .hasMessageNotContainingAny("s3cret", "ann:");
    }
    try (McpTools shop =
        McpTools.stdio("shop", "/no/such/program", "-v", "--token", "s3cret", "--key=s3cret")) {
      assertThatThrownBy(shop::tools)
          .hasMessageContaining("cannot be reached at /no/such/program -v --token … --key=…:")
          .hasMessageNotContaining("s3cret");
    }
    Server address = Server.Http.at(url);
    assertThat(address.masked("GET " + url)).doesNotContain("s3cret").contains("GET http://");
  }

  @Test
  void aServerThatDoesNotAnswerIsNotWaitedForBeyondTheTimeout() throws Exception {
    try (java.net.ServerSocket silent =
            new java.net.ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress());
        McpTools shop =
            McpTools.http("shop", "http://localhost:" + silent.getLocalPort() + "/mcp")
                .connectTimeout(Duration.ofMillis(300))) {
      assertThatThrownBy(shop::tools).hasMessageContaining("The MCP server shop cannot be reached");
    }
  }

  @Test
  void aTokenIsAskedForEachTime() throws Exception {
    AtomicInteger count = new AtomicInteger();
    try (McpTools shop =
        McpTools.http("shop", server.url()).bearer(() -> "t" + count.incrementAndGet())) {
      shop.tools();

      assertThat(server.tokens)
          .startsWith("Bearer t1")
          .hasSizeGreaterThan(2)
          .doesNotHaveDuplicates();
    }
  }

  @Test
  void aTokenMayEndWithTheLineBreakOfItsFileAndIsNotQuotedIfItCannotBeSent() throws Exception {
    try (McpTools shop = McpTools.http("shop", server.url()).bearer(() -> "s3cr3t\n")) {
      shop.tools();
      assertThat(server.tokens).contains("Bearer s3cr3t");
    }
    try (McpTools shop = McpTools.http("shop", server.url()).bearer(() -> "s3cr3t\nt0ken")) {
      assertThatThrownBy(shop::tools)
          .hasMessageContaining("The value of the header Authorization has a character")
          .hasMessageNotContainingAny("s3cr3t", "t0ken");
    }
  }

  @Test
  void toolsArePickedAndChangedByTheNamesThatTheServerHas() throws Exception {
    try (McpTools shop =
        McpTools.http("shop", server.url())
            .only("pay.back")
            .with("pay.back", tool -> tool.approval("Pay back?"))) {
      assertThat(shop.tools()).extracting(Tool::name).containsExactly("pay_back");
    }
    try (McpTools shop = McpTools.http("shop", server.url()).only("pay", "find")) {
      assertThatThrownBy(shop::tools)
          .hasMessageContaining("pay: the server has no such tool; it has [find, pay.back, say]");
    }
  }

  @Test
  void toolsThatCannotBeTakenAreAllNamed() throws Exception {
    try (ShopServer odd =
            ShopServer.having(
                """
                [{"name":"a.b","inputSchema":{"type":"object"}},
                 {"name":"a-b","inputSchema":{"type":"object"}},
                 {"name":"a/b","inputSchema":{"type":"object"}},
                 {"name":"list","inputSchema":{"type":"array"}},
                 {"name":"odd","inputSchema":{"type":"object","properties":{"x":{"type":"text"}}}},
                 {"name":"far","inputSchema":{"type":"object",
                   "properties":{"x":{"$ref":"http://localhost:1/x.json"}}}}]""");
        McpTools shop = McpTools.http("shop", odd.url())) {
      assertThatThrownBy(shop::tools)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll(
              "Some tools of the MCP server shop cannot be used; select others with only(…)",
              "- a/b: another tool is named a_b, too",
              "- list: A schema of arguments must have the type object",
              "- odd: ",
              "- far: ")
          .hasMessageNotContaining("- a-b");
      try (McpTools some = shop.only("a-b")) {
        assertThat(some.tools()).hasSize(1);
      }
    }
  }

  @Test
  void whatIsClosedSaysSo() throws Exception {
    McpTools shop = McpTools.http("shop", server.url());
    Tool say = tool(shop, "say");
    shop.close();

    assertThatThrownBy(() -> say(say, "well"))
        .hasMessage("The tools of the MCP server shop are closed");
  }

  // --- processes -------------------------------------------------------------------------------

  private static McpTools process() {
    return McpTools.stdio(
            "shop",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            ShopProcess.class.getName())
        .connectTimeout(Duration.ofSeconds(30));
  }

  @Test
  void aProcessIsStartedAndStartedAgainWhenItHasEnded() throws Exception {
    try (McpTools shop = process()) {
      Tool say = tool(shop, "say");
      assertThat(say(say, "well").text()).isEqualTo("well");

      assertThatThrownBy(() -> say(say, "die"))
          .isInstanceOf(OutcomeUnknownException.class)
          .hasMessageContaining("its process has ended");

      assertThat(say(say, "well").text()).isEqualTo("well");
    }
  }

  @Test
  void aProgramThatIsNotThereIsNamed() {
    try (McpTools shop = McpTools.stdio("shop", "/no/such/program", "--now")) {
      assertThatThrownBy(shop::tools)
          .hasMessageContaining("The MCP server shop cannot be reached at /no/such/program --now");
    }
    assertThatThrownBy(() -> McpTools.stdio("shop", "x").bearer("t"))
        .hasMessageContaining("set its environment with env");
    assertThatThrownBy(() -> McpTools.http("shop", "shop.example.org"))
        .hasMessageContaining("is not the address of an MCP server");
  }
}

package io.fermata.mcp.settings;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.Events;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.Wired;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.call.RequestStates;
import io.fermata.mcp.call.RoundInputs;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.legacy.ClientRequests;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.LocalBus;
import io.fermata.session.key.TestHandles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The limits of one principal, which do not affect the others. */
@Timeout(60)
class PrincipalLimitsTest {
  /** A message of 60,000 bytes and more. */
  private static final String LARGE =
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"text\":\"%s\"}}"
          .formatted("x".repeat(60_000));

  private static final int LAST = LARGE.charAt(LARGE.length() - 1);

  private final FakeHost host = new FakeHost();

  private McpServer server(UnaryOperator<PrincipalLimits> limits) {
    return builder(limits).start();
  }

  private McpServerBuilder builder(UnaryOperator<PrincipalLimits> limits) {
    return McpServer.serving(host)
        .port(0)
        .apiKey("ann", "key-of-ann")
        .apiKey("bob", "key-of-bob")
        .perPrincipal(limits.apply(PrincipalLimits.DEFAULT));
  }

  private static Wired of(McpServer server, String who) {
    return new Wired(server).with("Authorization", "Bearer key-of-" + who);
  }

  @Test
  void aPrincipalHasARateByDefault() {
    AtomicLong now = new AtomicLong();
    CallQuotas quotas = new CallQuotas(PrincipalLimits.DEFAULT, now::get);
    quotas.countArrivals("ann", 5_000);

    assertThatThrownBy(() -> quotas.countArrivals("ann", 1))
        .isInstanceOf(RpcException.class)
        .hasMessageContaining("1000 per second");
    quotas.countArrivals("bob", 1);
    now.addAndGet(1_000_000_000);
    quotas.countArrivals("ann", 1_000);
  }

  @Test
  void aPrincipalThatCallsTooOftenIsRefusedWithRetryAfterAndOthersAreServed() {
    try (McpServer server = server(limits -> limits.callsPerSecond(0.01, 5))) {
      for (int i = 0; i < 5; i++) {
        assertThat(of(server, "ann").request("ping", "").status()).isEqualTo(200);
      }
      Wired.Said tooMany = of(server, "ann").request("ping", "");
      assertThat(tooMany.status()).isEqualTo(429);
      assertThat(tooMany.code()).isEqualTo(RpcException.INVALID_REQUEST);
      assertThat(tooMany.message()).contains("0.01 per second");
      assertThat(Integer.parseInt(tooMany.raw().headers().firstValue("Retry-After").orElseThrow()))
          .isBetween(90, 100);
      assertThat(of(server, "bob").request("ping", "").status()).isEqualTo(200);
    }
  }

  @Test
  void everyMessageOfABatchCounts() {
    try (McpServer server = server(limits -> limits.callsPerSecond(0.01, 5))) {
      String ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
      String batch = "[" + ping + "," + ping + "," + ping + "]";

      assertThat(of(server, "ann").send(batch).body()).hasSize(3);
      assertThat(of(server, "ann").send(batch).status()).isEqualTo(429);
      assertThat(of(server, "ann").request("ping", "").status()).isEqualTo(200);
      assertThat(of(server, "ann").request("ping", "").status()).isEqualTo(429);
    }
  }

  @Test
  void aPrincipalWithTooManyCallsInFlightIsRefusedUntilOneEnds() {
    try (McpServer server = server(limits -> limits.callsInFlight(2))) {
      List<CompletableFuture<Wired.Said>> under = new ArrayList<>();
      List<FakeHost.Work> works = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        under.add(
            CompletableFuture.supplyAsync(
                () -> of(server, "ann").request("tools/call", "\"name\":\"working\""),
                task -> new Thread(task).start()));
        works.add(host.work());
      }
      Wired.Said third = of(server, "ann").request("tools/call", "\"name\":\"echo\"");
      assertThat(third.status()).isEqualTo(429);
      assertThat(third.raw().headers().firstValue("Retry-After")).hasValue("1");
      assertThat(third.body().path("id").asInt()).isEqualTo(7);
      assertThat(of(server, "ann").request("ping", "").status()).isEqualTo(200);
      assertThat(of(server, "bob").request("tools/call", "\"name\":\"echo\"").status())
          .isEqualTo(200);

      works.get(0).ends();
      assertThat(under.get(0).join().status()).isEqualTo(200);
      assertThat(of(server, "ann").request("tools/call", "\"name\":\"echo\"").status())
          .isEqualTo(200);
      works.get(1).ends();
      under.get(1).join();
    }
  }

  @Test
  void whoHasTheAnswerOfACallMayCallAgain() {
    CallQuotas quotas = new CallQuotas(PrincipalLimits.DEFAULT.callsInFlight(1), () -> 0);
    CompletableFuture<String> answer = new CompletableFuture<>();
    CompletionStage<String> again =
        quotas
            .during("ann", () -> answer)
            .thenCompose(
                first ->
                    quotas.during(
                        "ann", () -> CompletableFuture.completedFuture(first + " again")));

    answer.complete("answered");

    assertThat(again).isCompletedWithValue("answered again");
  }

  @Test
  void aCallThatFailsIsNoLongerInFlight() {
    try (McpServer server = server(limits -> limits.callsInFlight(1))) {
      for (String tool : List.of("throwing", "failing", "unknown", "throwing", "echo")) {
        assertThat(of(server, "ann").request("tools/call", "\"name\":\"" + tool + "\"").status())
            .as(tool)
            .isNotEqualTo(429);
      }
    }
  }

  @Test
  void aCallThatIsCancelledCountsForItsPrincipalUntilItsHandlerEnds() throws Exception {
    CompletableFuture<Void> begun = new CompletableFuture<>();
    CompletableFuture<Void> released = new CompletableFuture<>();
    McpTool stubborn =
        McpTool.of("stubborn", "Ignores that it is interrupted")
            .call(
                call -> {
                  begun.complete(null);
                  released.join();
                  return McpResult.text("too late");
                });
    McpTool quick = McpTool.of("quick", "Answers").call(call -> McpResult.text("done"));
    try (McpServer server =
        McpServer.plain()
            .port(0)
            .apiKey("ann", "key-of-ann")
            .apiKey("bob", "key-of-bob")
            .perPrincipal(PrincipalLimits.DEFAULT.callsInFlight(1))
            .tool(stubborn)
            .tool(quick)
            .start()) {
      Wired ann = of(server, "ann").session("2025-03-26", "{}").with("Accept", "application/json");
      var answer = ann.listen(call(9, "stubborn"));
      begun.join();
      ann.send(
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}");
      assertThat(answer.get().plain().toString()).contains("cancelled");

      assertThat(ann.send(call(10, "quick")).status()).isEqualTo(429);
      assertThat(of(server, "bob").send(call(10, "quick")).status()).isEqualTo(200);

      released.complete(null);
      while (ann.send(call(10, "quick")).status() == 429) {
        Thread.onSpinWait();
      }
      assertThat(ann.send(call(11, "quick")).status()).isEqualTo(200);
    }
  }

  @Test
  void bodiesThatAreArrivingCountForTheirPrincipalUntilTheyAreThere() throws Exception {
    try (McpServer server = server(limits -> limits.arrivingBytes(100_000));
        Socket arriving = arriving(server)) {
      assertThat(refused(server).raw().headers().firstValue("Retry-After")).hasValue("1");
      assertThat(of(server, "ann").request("ping", "").status()).isEqualTo(200);
      assertThat(of(server, "bob").send(LARGE).status()).isEqualTo(200);

      arriving.getOutputStream().write(LAST);
      assertThat(status(arriving)).isEqualTo("HTTP/1.1 200");
      assertThat(of(server, "ann").send(LARGE).status()).isEqualTo(200);
    }
  }

  @Test
  void aBodyThatNeverArrivesCountsUntilItsConnectionIsClosed() throws Exception {
    try (McpServer server = server(limits -> limits.arrivingBytes(100_000))) {
      Socket arriving = arriving(server);
      refused(server);

      arriving.close();
      while (of(server, "ann").send(LARGE).status() == 429) {
        Thread.onSpinWait();
      }
      assertThat(of(server, "ann").send(LARGE).status()).isEqualTo(200);
    }
  }

  @Test
  void aBodyThatArrivesTooSlowlyCountsUntilItIsRefused() throws Exception {
    try (McpServer server =
            builder(limits -> limits.arrivingBytes(100_000))
                .requestTimeout(Duration.ofSeconds(2))
                .start();
        Socket arriving = arriving(server)) {
      refused(server);

      assertThat(status(arriving)).isEqualTo("HTTP/1.1 408");
      while (of(server, "ann").send(LARGE).status() == 429) {
        Thread.onSpinWait();
      }
      assertThat(of(server, "ann").send(LARGE).status()).isEqualTo(200);
    }
  }

  /** A request of ann that lacks the last byte of its body, all others of which are counted. */
  private static Socket arriving(McpServer server) throws IOException {
    while (true) {
      Socket socket = sent(server);
      while (socket.getInputStream().available() == 0) {
        if (of(server, "ann").send(LARGE).status() == 429) {
          return socket;
        }
      }
      // It arrived while the other did, and was refused in place of it.
      socket.close();
    }
  }

  private static Socket sent(McpServer server) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    String head =
        """
        POST /mcp HTTP/1.1\r
        Host: localhost\r
        Authorization: Bearer key-of-ann\r
        Accept: application/json\r
        Content-Type: application/json\r
        Content-Length: %d\r
        \r
        """
            .formatted(LARGE.length());
    socket
        .getOutputStream()
        .write((head + LARGE).getBytes(UTF_8), 0, head.length() + LARGE.length() - 1);
    return socket;
  }

  /** The refusal of a second body of ann. */
  private static Wired.Said refused(McpServer server) {
    Wired.Said said = of(server, "ann").send(LARGE);
    assertThat(said.status()).isEqualTo(429);
    assertThat(said.message()).contains("100000 bytes");
    return said;
  }

  private static String status(Socket socket) throws IOException {
    return new String(socket.getInputStream().readNBytes("HTTP/1.1 200".length()), UTF_8);
  }

  private static String call(int id, String tool) {
    return "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}"
        .formatted(id, tool);
  }

  @Test
  void nobodyHasTheStatesOfOthersExpire() {
    RequestStates states =
        new RequestStates(
            TestHandles.ofStore("here"), new LocalBus(), System::currentTimeMillis, 3);
    String anns = states.encrypt(RoundInputs.none().kept(Set.of()), "ann", "call");
    List<String> bobs = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      bobs.add(states.encrypt(RoundInputs.none().kept(Set.of()), "bob", "call"));
    }
    bobs.forEach(
        state -> {
          try {
            states.open(state, "bob", "call").use("make a new call");
          } catch (RpcException expired) {
            assertThat(expired.reason).contains("expired");
          }
        });

    states.open(anns, "ann", "call").use("make a new call");
    assertThatThrownBy(() -> states.open(bobs.get(0), "bob", "call").use("make a new call"))
        .as("what was forgotten is not taken twice")
        .isInstanceOf(RpcException.class);
  }

  /** A client of ann that has chosen a level, which is remembered of one session at a time. */
  private static Wired choosing(McpServer server) {
    Wired client = of(server, "ann").session("2025-11-25", "{}");
    assertThat(client.request("logging/setLevel", "\"level\":\"debug\"").status()).isEqualTo(200);
    return client;
  }

  @Test
  void aSessionWithACallInFlightDoesNotGoForAnother() throws Exception {
    McpTool endless =
        McpTool.of("endless", "Never ends")
            .callAsync(
                call -> {
                  call.progress(0, 1);
                  return new CompletableFuture<>();
                });
    try (McpServer server = builder(limits -> limits.sessions(1)).tool(endless).start()) {
      Wired client = choosing(server);
      Events events = client.listen(notifying("endless")).get();
      assertThat(events.next().path("method").asText()).isEqualTo("notifications/progress");
      choosing(server);

      assertThat(client.request("ping", "").status()).isEqualTo(200);
      client.send(
          """
          {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}""");
      assertThat(events.next().at("/error/message").asText()).contains("cancelled");
    }
  }

  @Test
  void anAnswerIsResumedThoughItsSessionWentForAnother() throws Exception {
    McpTool quick =
        McpTool.of("quick", "Answers")
            .call(
                call -> {
                  call.progress(0, 1);
                  return McpResult.text("done");
                });
    try (McpServer server = builder(limits -> limits.sessions(1)).tool(quick).start()) {
      Wired client = choosing(server);
      Events events = client.listen(notifying("quick")).get();
      events.next();
      String first = events.lastId();
      events.rest();
      choosing(server);
      assertThat(client.request("ping", "").status()).isEqualTo(404);

      Events resumed = client.method("GET").with("Last-Event-ID", first).listen("").get();

      assertThat(resumed.rest().get(0).at("/result/content/0/text").asText()).isEqualTo("done");
    }
  }

  private static String notifying(String tool) {
    return "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"_meta\":{\"progressToken\":\"t\"}}}"
        .formatted(tool);
  }

  private static Client.Asker asker(String principal) {
    return new Client.Asker(AuthenticatedCaller.trusted(principal), null, anyone -> {});
  }

  @Test
  void onlySoManyQuestionsWaitForOnePrincipal() {
    ClientRequests inquiries =
        new ClientRequests(TestHandles.ofStore("here"), ClientRequests.TIMEOUT, 2);
    OutboundQueue first = new OutboundQueue(woken -> {});
    var asks = Map.of("a", McpAsk.roots(), "b", McpAsk.roots());
    var waiting = inquiries.ask(asks, asker("ann"), first);

    assertThatThrownBy(() -> inquiries.ask(asks, asker("ann"), new OutboundQueue(woken -> {})))
        .isInstanceOf(RpcException.class)
        .hasMessageContaining("answer one");
    inquiries.ask(asks, asker("bob"), new OutboundQueue(woken -> {}));

    first.disconnect();
    assertThat(waiting.toCompletableFuture()).isCompletedExceptionally();
    inquiries.ask(asks, asker("ann"), new OutboundQueue(woken -> {}));
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN})
  void aRateIsMoreThanNothing(double rate) {
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.callsPerSecond(rate, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("callsPerSecond");
  }

  @Test
  void aBoundIsAtLeastOne() {
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.callsPerSecond(1, 0))
        .hasMessageContaining("burst");
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.callsInFlight(0))
        .hasMessageContaining("callsInFlight");
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.arrivingBytes(0))
        .hasMessageContaining("arrivingBytes");
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.openQuestions(0))
        .hasMessageContaining("openQuestions");
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.sessions(0)).hasMessageContaining("sessions");
    assertThatThrownBy(() -> PrincipalLimits.DEFAULT.requestStates(0))
        .hasMessageContaining("requestStates");
  }
}

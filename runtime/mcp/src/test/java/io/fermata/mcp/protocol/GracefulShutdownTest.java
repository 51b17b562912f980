package io.fermata.mcp.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.Events;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpStdio;
import io.fermata.mcp.Wired;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.ToolHost;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that shuts down while clients call. */
@Timeout(60)
@Tag("slow")
class GracefulShutdownTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration ENDLESS = ChronoUnit.FOREVER.getDuration();
  private static final Duration SHORT = Duration.ofMillis(50);

  private final FakeHost host = new FakeHost();
  private final CountDownLatch handling = new CountDownLatch(1);
  private final CountDownLatch never = new CountDownLatch(1);
  private final AtomicBoolean interrupted = new AtomicBoolean();
  private McpServer server;

  @BeforeEach
  void start() {
    server =
        McpServer.serving(host)
            .tool(McpTool.of("endless", "Never ends").call(call -> endless()))
            .port(0)
            .start();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private McpResult endless() throws InterruptedException {
    handling.countDown();
    try {
      never.await();
    } catch (InterruptedException e) {
      interrupted.set(true);
      throw e;
    }
    return McpResult.text("done");
  }

  private Wired.Said call(String tool) {
    return new Wired(server)
        .with("Mcp-Name", tool)
        .modern("tools/call", "\"name\":\"" + tool + "\",\"arguments\":{}");
  }

  private CompletableFuture<Wired.Said> later(String tool) {
    return CompletableFuture.supplyAsync(() -> call(tool));
  }

  private CompletableFuture<Void> draining(Duration timeout) throws InterruptedException {
    CompletableFuture<Void> drained = CompletableFuture.runAsync(() -> server.drain(timeout));
    while (new Wired(server).method("GET").sendTo("/health/ready").status() == 200) {
      Thread.sleep(5);
    }
    return drained;
  }

  @Test
  void whatHasAReplyForBeingHandedBackGetsItAlsoIfTheHostAnswersAtOnce() {
    RequestGate gate = new RequestGate();
    gate.enter();
    CompletableFuture<String> answer = new CompletableFuture<>();
    CompletionStage<String> reply = gate.orIfHandedBack(answer, () -> "kept");
    CompletionStage<Void> left = reply.thenRun(gate::leave);
    ToolHost answering =
        new FakeHost() {
          @Override
          public void handBack() {
            answer.complete("at work");
          }
        };

    new GracefulShutdown(gate, answering, () -> {}).run(SHORT);

    assertThat(left).isCompleted();
    assertThat(reply).isCompletedWithValue("kept");
  }

  @Test
  void workThatOutlastsItsRequestIsInFlightAndEndsWithTheServer() {
    RequestGate gate = new RequestGate();
    CompletableFuture<String> work = new CompletableFuture<>();
    gate.hold(work);

    new GracefulShutdown(gate, host, () -> {}).run(SHORT);

    assertThat(work).isCompletedExceptionally();
    CompletableFuture<String> late = new CompletableFuture<>();
    gate.hold(late);
    assertThat(late).isCompletedExceptionally();
  }

  @Test
  void aCallInFlightIsAnsweredAndNewOnesAreRefusedMeanwhile() throws Exception {
    CompletableFuture<Wired.Said> inFlight = later("working");
    FakeHost.Work work = host.work();

    CompletableFuture<Void> drained = draining(LONG);

    Wired.Said refused = call("noop");
    assertThat(refused.status()).isEqualTo(503);
    assertThat(refused.raw().headers().firstValue("Retry-After")).contains("1");
    assertThat(refused.body().path("id").asInt()).isEqualTo(7);
    assertThat(refused.code()).isEqualTo(RpcException.INTERNAL_ERROR);
    assertThat(refused.body().at("/error/data/code").asText()).isEqualTo("shutting_down");
    assertThat(refused.message()).contains("again");
    assertThat(
            new Wired(server)
                .request("initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}")
                .status())
        .isEqualTo(503);
    assertThat(new Wired(server).request("ping", "").status()).isEqualTo(200);
    work.ends();
    assertThat(inFlight.get().result().at("/structuredContent/status").asText())
        .isEqualTo("complete");
    drained.get();
  }

  @Test
  void aCallThatTakesLongerIsHandedBack() throws Exception {
    CompletableFuture<Wired.Said> inFlight = later("working");
    host.work();

    server.drain(SHORT);

    Wired.Said handedBack = inFlight.get();
    assertThat(handedBack.status()).isEqualTo(200);
    assertThat(handedBack.result().at("/structuredContent/code").asText())
        .isEqualTo("still_working");
  }

  @Test
  void aHandlerThatNeverEndsIsInterruptedAndItsCallerGetsAnError() throws Exception {
    CompletableFuture<Wired.Said> inFlight = later("endless");
    assertThat(handling.await(60, TimeUnit.SECONDS)).isTrue();

    server.drain(SHORT);

    Wired.Said cutOff = inFlight.get();
    assertThat(cutOff.status()).isEqualTo(503);
    assertThat(cutOff.body().at("/error/data/code").asText()).isEqualTo("cut_off");
    while (!interrupted.get()) {
      Thread.sleep(5);
    }
  }

  @Test
  void subscribersAreNotifiedOfTheEnd() throws Exception {
    Wired client = new Wired(server);
    Events events =
        client
            .listen(
                client.modernMessage(
                    "subscriptions/listen",
                    "",
                    "\"notifications\":{\"toolsListChanged\":true}",
                    "{}"))
            .get();
    events.next();

    server.drain(LONG);

    JsonNode last = events.next();
    assertThat(last.at("/result/resultType").asText()).isEqualTo("complete");
    assertThat(events.next().isMissingNode()).isTrue();
  }

  @Test
  void aServerWithNothingToDoEndsAtOnceAndOnce() {
    server.drain(ENDLESS);
    server.drain(ENDLESS);
  }

  @Test
  void whoDrainsAServerThatIsShuttingDownReturnsWhenItHasAndMayHurryIt() throws Exception {
    CompletableFuture<Wired.Said> call = later("endless");
    assertThat(handling.await(60, TimeUnit.SECONDS)).isTrue();
    CompletableFuture<Void> first = draining(Duration.ofHours(1));
    Thread second = new Thread(() -> server.drain(Duration.ofHours(1)));
    second.start();
    while (second.getState() != Thread.State.TIMED_WAITING && second.isAlive()) {
      Thread.onSpinWait();
    }
    assertThat(second.isAlive()).as("waits").isTrue();

    server.drain(SHORT);

    second.join();
    first.join();
    call.join();
  }

  /** A server over streams, and their other ends. */
  private record Streams(McpStdio stdio, PipedOutputStream toServer, BufferedReader fromServer) {}

  private Streams streams() throws IOException {
    PipedOutputStream toServer = new PipedOutputStream();
    PipedInputStream in = new PipedInputStream(toServer, 1 << 16);
    PipedOutputStream out = new PipedOutputStream();
    BufferedReader fromServer =
        new BufferedReader(new InputStreamReader(new PipedInputStream(out, 1 << 16), UTF_8));
    return new Streams(McpServer.serving(host).stdio(in, out), toServer, fromServer);
  }

  @Test
  void overAStreamItIsTheSame() throws Exception {
    Streams streams = streams();
    say(streams.toServer(), 1, "working");
    FakeHost.Work work = host.work();

    CompletableFuture<Void> drained = CompletableFuture.runAsync(() -> streams.stdio().drain(LONG));

    JsonNode refused = Wired.JSON.readTree("{}");
    while (!refused.has("error")) {
      say(streams.toServer(), 2, "noop");
      refused = Wired.JSON.readTree(streams.fromServer().readLine());
      assertThat(refused.path("id").asInt()).isEqualTo(2);
    }
    assertThat(refused.at("/error/data/code").asText()).isEqualTo("shutting_down");
    work.ends();
    JsonNode answered = Wired.JSON.readTree(streams.fromServer().readLine());
    assertThat(answered.path("id").asInt()).isEqualTo(1);
    assertThat(answered.has("result")).isTrue();
    drained.get();
  }

  @Test
  void overAStreamSubscribersAreNotifiedOfTheEnd() throws Exception {
    Streams streams = streams();
    streams
        .toServer()
        .write(
            "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{},%s}}\n"
                .formatted(Wired.META)
                .getBytes(UTF_8));
    streams.toServer().flush();
    assertThat(streams.fromServer().readLine()).contains("acknowledged");

    streams.stdio().drain(ENDLESS);

    JsonNode cancelled = Wired.JSON.readTree(streams.fromServer().readLine());
    assertThat(cancelled.path("method").asText()).isEqualTo("notifications/cancelled");
    assertThat(cancelled.at("/params/requestId").asText()).isEqualTo("l");
    JsonNode last = Wired.JSON.readTree(streams.fromServer().readLine());
    assertThat(last.at("/result/resultType").asText()).isEqualTo("complete");
  }

  private static void say(PipedOutputStream toServer, int id, String tool) throws IOException {
    toServer.write(
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{}}}\n"
            .formatted(id, tool)
            .getBytes(UTF_8));
    toServer.flush();
  }
}

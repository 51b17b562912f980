package io.fermata.mcp.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.EmptyHost;
import io.fermata.mcp.Events;
import io.fermata.mcp.EverythingServer;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpStdio;
import io.fermata.mcp.Wired;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.rpc.JsonRpcCodec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** The server as a process of its client, over its standard streams. */
@Timeout(30)
@Tag("slow")
class StdioTest {
  private final FakeHost host = new FakeHost();
  private final PipedOutputStream toServer = new PipedOutputStream();
  private BufferedReader fromServer;
  private McpStdio server;

  @BeforeEach
  void start() throws IOException {
    PipedInputStream in = new PipedInputStream(toServer, 1 << 16);
    PipedOutputStream out = new PipedOutputStream();
    fromServer =
        new BufferedReader(new InputStreamReader(new PipedInputStream(out, 1 << 16), UTF_8));
    server = McpServer.serving(host).name("fake").stdio(in, out);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void say(String line) throws IOException {
    toServer.write((line + "\n").getBytes(UTF_8));
    toServer.flush();
  }

  private void call(int id, String tool, String arguments) throws IOException {
    say(
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}"
            .formatted(id, tool, arguments));
  }

  private JsonNode receive() throws IOException {
    return Wired.JSON.readTree(fromServer.readLine());
  }

  @Test
  void bothErasAreServedOnOneStream() throws IOException {
    say(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{"
            + Wired.META
            + "}}");
    assertThat(receive().at("/result/resultType").asText()).isEqualTo("complete");
    say(
        "{\"jsonrpc\":\"2.0\",\"id\":\"two\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}");
    assertThat(receive().at("/result/protocolVersion").asText()).isEqualTo("2025-03-26");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    call(3, "noop", "{}");
    JsonNode answer = receive();
    assertThat(answer.path("id").asInt()).isEqualTo(3);
    assertThat(answer.path("result").has("structuredContent")).isFalse();
  }

  @Test
  void whatAClientChoosesNeedsAHandshake() throws IOException {
    String level =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}";
    say(level.formatted(1));
    assertThat(receive().at("/error/message").asText()).contains("initialize");
    say(
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}");
    receive();
    say(level.formatted(3));
    assertThat(receive().path("result")).isEqualTo(Json.object());
  }

  @Test
  void answersComeInTheOrderInWhichCallsFinish() throws IOException {
    call(1, "working", "{}");
    call(2, "echo", "{\"text\":\"🧑‍🚀\"}");

    JsonNode first = receive();
    assertThat(first.path("id").asInt()).isEqualTo(2);
    assertThat(first.at("/result/structuredContent/arguments/text").asText()).isEqualTo("🧑‍🚀");
    host.work().ends();
    assertThat(receive().path("id").asInt()).isEqualTo(1);
  }

  @Test
  void brokenLinesAreAnsweredAndReadingContinues() throws IOException {
    say("{broken");
    say("");
    say("x".repeat(JsonRpcCodec.MAX_BYTES + 10));
    call(4, "noop", "{}\r");

    JsonNode broken = receive();
    assertThat(broken.at("/error/code").asInt()).isEqualTo(-32700);
    assertThat(broken.has("id") && broken.path("id").isNull()).isTrue();
    assertThat(receive().at("/error/message").asText()).contains("exceeds");
    assertThat(receive().path("id").asInt()).isEqualTo(4);
  }

  @Test
  void aCancelledCallIsNotAnswered() throws IOException {
    call(1, "working", "{}");
    FakeHost.Work cancelled = host.work();
    say(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
    call(2, "working", "{}");
    FakeHost.Work next = host.work();
    cancelled.ends();
    next.ends();

    assertThat(receive().path("id").asInt()).isEqualTo(2);
  }

  @Test
  void aRequestOfABatchIsCancelledByItself() throws IOException {
    isCancelledInABatchBeside(0);
  }

  @Test
  void aRequestOfABatchIsCancelledHoweverManyOthersRun() throws IOException {
    isCancelledInABatchBeside(256);
  }

  @Test
  void cancellationsAndTheEndAreReadHoweverManyCallsRunThatNothingElseEnds() throws Exception {
    int calls = 300;
    PipedOutputStream asking = new PipedOutputStream();
    PipedOutputStream answering = new PipedOutputStream();
    McpTool endless =
        McpTool.of("endless", "Never answers").callAsync(call -> new CompletableFuture<>());
    try (BufferedReader received =
            new BufferedReader(new InputStreamReader(new PipedInputStream(answering), UTF_8));
        McpStdio plain =
            McpServer.plain()
                .tool(endless)
                .stdio(new PipedInputStream(asking, 1 << 16), answering)) {
      for (int id = 1; id <= calls; id++) {
        write(
            asking,
            "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'endless'}}"
                .formatted(id));
      }
      write(asking, "{'jsonrpc':'2.0','id':0,'method':'ping'}");
      assertThat(Wired.JSON.readTree(received.readLine()).path("id").asInt()).isZero();
      for (int id = 1; id <= calls; id++) {
        write(
            asking,
            "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':%d}}"
                .formatted(id));
      }
      asking.close();

      plain.awaitEnd();
    }
  }

  @Test
  void aRequestBeyondThoseThatMayBeOpenIsHandledWhenOneOfThemEnds() throws Exception {
    int most = 1_024;
    Queue<CompletableFuture<McpResult>> held = new ConcurrentLinkedQueue<>();
    McpTool holds =
        McpTool.of("holds", "Answers when it is let go")
            .callAsync(
                call -> {
                  CompletableFuture<McpResult> result = new CompletableFuture<>();
                  held.add(result);
                  return result;
                });
    PipedOutputStream asking = new PipedOutputStream();
    PipedOutputStream answering = new PipedOutputStream();
    try (BufferedReader received =
            new BufferedReader(new InputStreamReader(new PipedInputStream(answering), UTF_8));
        McpStdio plain =
            McpServer.plain().tool(holds).stdio(new PipedInputStream(asking, 1 << 16), answering)) {
      for (int id = 1; id <= most; id++) {
        write(
            asking,
            "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'holds'}}"
                .formatted(id));
      }
      while (held.size() < most) {
        Thread.sleep(10);
      }
      write(asking, "{'jsonrpc':'2.0','id':0,'method':'ping'}");
      // So that the server has read it.
      Thread.sleep(100);
      held.remove().complete(McpResult.text("let go"));

      Set<Integer> answered = new HashSet<>();
      for (int answers = 1; answers <= most + 1; answers++) {
        JsonNode message = Wired.JSON.readTree(received.readLine());
        assertThat(message.has("result")).as("%s", message).isTrue();
        answered.add(message.path("id").asInt());
        if (answers == 2) {
          held.forEach(other -> other.complete(McpResult.text("let go")));
        }
      }
      assertThat(answered).hasSize(most + 1);
      asking.close();
      plain.awaitEnd();
    }
  }

  private void isCancelledInABatchBeside(int others) throws IOException {
    say(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}");
    receive();
    String call =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"working\",\"arguments\":{}}}";
    say("[" + call.formatted(2) + "," + call.formatted(3) + "]");
    host.work();
    FakeHost.Work second = host.work();
    for (int i = 0; i < others; i++) {
      say(call.formatted(4 + i));
      host.work();
    }
    say(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
    second.ends();

    JsonNode answers = receive();
    assertThat(answers.at("/0/error/message").asText()).contains("cancelled");
    assertThat(answers.path(1).path("id").asInt()).isEqualTo(3);
    assertThat(answers.path(1).has("result")).isTrue();
  }

  @Test
  void aServerWhoseClientDoesNotReadAnyMoreEndsAlsoWithAPrintStream() throws Exception {
    server.close();
    OutputStream broken =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("Broken pipe");
          }
        };
    PipedOutputStream toBroken = new PipedOutputStream();
    try (McpStdio serving =
        McpServer.serving(host)
            .stdio(new PipedInputStream(toBroken), new PrintStream(broken, true, UTF_8))) {
      toBroken.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".getBytes(UTF_8));
      toBroken.flush();

      serving.awaitEnd();
    }
  }

  @Test
  void anIdInFlightIsNotUsedTwice() throws IOException {
    call(1, "working", "{}");
    call(1, "noop", "{}");

    assertThat(receive().at("/error/message").asText()).contains("in flight");
    host.work().ends();
    assertThat(receive().path("id").asInt()).isEqualTo(1);
  }

  @Test
  void manyCallsAreEachAnsweredOnALineOfTheirOwn() throws IOException {
    for (int i = 0; i < 200; i++) {
      call(i, "slow", "{\"millis\":" + (i % 7) + ",\"fill\":\"" + "f".repeat(50) + "\"}");
    }
    Set<Integer> received = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      received.add(receive().path("id").asInt());
    }
    assertThat(received).hasSize(200);
  }

  private void work(int id) throws IOException {
    say(
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"working\",\"_meta\":{\"progressToken\":\"t%d\"}}}"
            .formatted(id, id));
  }

  /** All messages until the response to a request. */
  private List<JsonNode> receiveUntil(int id) throws IOException {
    List<JsonNode> received = new ArrayList<>(List.of(receive()));
    while (received.get(received.size() - 1).path("id").asInt() != id) {
      received.add(receive());
    }
    return received;
  }

  @Test
  void progressComesBeforeTheAnswer() throws IOException {
    work(1);
    FakeHost.Work work = host.work();
    work.emits("search", "offers", Json.object().put("found", 3));
    JsonNode first = receive();
    assertThat(first.path("method").asText()).isEqualTo("notifications/progress");
    assertThat(first.at("/params/progressToken").asText()).isEqualTo("t1");
    assertThat(first.at("/params/message").asText()).isEqualTo("offers: {\"found\":3}");
    work.streams("Good ", "day");
    work.ends();

    assertThat(Events.said(Events.beforeTheResponse(receiveUntil(1)))).isEqualTo("Good day");
  }

  @Test
  void aCallWithoutTokenIsSilentUntilItsAnswer() throws IOException {
    call(1, "working", "{}");
    FakeHost.Work work = host.work();
    work.streams("unheard");
    work.ends();

    assertThat(receive().path("id").asInt()).isEqualTo(1);
  }

  @Test
  void aCancelledCallSendsNothingAnyMore() throws IOException {
    work(1);
    FakeHost.Work cancelled = host.work();
    say(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
    work(1);
    FakeHost.Work again = host.work();
    cancelled.streams("unheard");
    cancelled.ends();
    again.streams("received");
    again.ends();

    assertThat(Events.said(Events.beforeTheResponse(receiveUntil(1)))).isEqualTo("received");
  }

  @Test
  void progressOfManyCallsIsNotMixedUp() throws Exception {
    int calls = 20;
    StringBuilder all = new StringBuilder();
    IntStream.range(0, 200).forEach(i -> all.append("piece ").append(i));
    for (int id = 0; id < calls; id++) {
      work(id);
    }
    List<Thread> working = new ArrayList<>();
    for (int id = 0; id < calls; id++) {
      FakeHost.Work work = host.work();
      Thread thread =
          new Thread(
              () -> {
                IntStream.range(0, 200).forEach(i -> work.streams("piece " + i));
                work.ends();
              });
      thread.start();
      working.add(thread);
    }
    Map<String, String> said = new HashMap<>();
    for (int answers = 0; answers < calls; ) {
      JsonNode received = receive();
      if (received.has("id")) {
        answers++;
        assertThat(said).containsEntry("t" + received.path("id").asInt(), all.toString());
      } else {
        JsonNode params = received.path("params");
        said.merge(
            params.path("progressToken").asText(), params.path("message").asText(), String::concat);
      }
    }
    for (Thread thread : working) {
      thread.join();
    }
  }

  @Test
  void aReaderThatIsSlowMakesTheServerHoldNothing() throws Exception {
    work(1);
    FakeHost.Work work = host.work();
    String piece = "x".repeat(OutboundQueue.ROOM / 2);
    int rounds = 40;
    for (int i = 0; i < rounds; i++) {
      work.streams(piece);
      Thread.sleep(OutboundQueue.PAUSE_MILLIS + 5L);
    }
    work.ends();

    String said = Events.said(Events.beforeTheResponse(receiveUntil(1)));
    assertThat(said.length()).isLessThan(rounds * piece.length() / 2);
    assertThat(said).contains("left out");
  }

  @Test
  void theEndOfTheInputLetsCallsFinish() throws Exception {
    call(1, "slow", "{\"millis\":300}");
    toServer.close();
    server.awaitEnd();

    assertThat(receive().path("id").asInt()).isEqualTo(1);
  }

  @Test
  void anEndThatLeftNothingUnsaidIsNotComplainedAbout() throws Exception {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Logger logger = (Logger) LoggerFactory.getLogger(McpStdio.class);
    logger.addAppender(log);
    try {
      call(1, "noop", "{}");
      assertThat(receive().path("id").asInt()).isEqualTo(1);
      toServer.close();
      server.awaitEnd();
      server.drain(Duration.ofSeconds(3));
    } finally {
      logger.detachAppender(log);
    }
    assertThat(log.list).isEmpty();
  }

  @Test
  void howeverManyCallsWaitForTheClientItsRepliesAreRead() throws IOException {
    int calls = 300;
    PipedOutputStream asking = new PipedOutputStream();
    PipedOutputStream answering = new PipedOutputStream();
    try (McpStdio plain =
            EverythingServer.builder(new EmptyHost())
                .stdio(new PipedInputStream(asking, 1 << 16), answering);
        BufferedReader received =
            new BufferedReader(
                new InputStreamReader(new PipedInputStream(answering, 1 << 16), UTF_8))) {
      write(
          asking,
          "{'jsonrpc':'2.0','id':-1,'method':'initialize','params':{'protocolVersion':'2025-11-25','capabilities':{'sampling':{}}}}");
      received.readLine();
      for (int id = 0; id < calls; id++) {
        write(
            asking,
            "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'test_sampling','arguments':{'prompt':'Hi'}}}"
                .formatted(id));
      }
      List<String> asked = new ArrayList<>();
      for (int i = 0; i < calls; i++) {
        asked.add(Wired.JSON.readTree(received.readLine()).path("id").asText());
      }
      for (String id : asked) {
        write(
            asking,
            "{'jsonrpc':'2.0','id':'%s','result':{'role':'assistant','model':'m','content':{'type':'text','text':'Ho'}}}"
                .formatted(id));
      }
      Set<Integer> answered = new HashSet<>();
      for (int i = 0; i < calls; i++) {
        answered.add(Wired.JSON.readTree(received.readLine()).path("id").asInt());
      }
      assertThat(answered).hasSize(calls);
      assertThat(plain.changes()).isNotNull();
    }
  }

  private static void write(PipedOutputStream out, String line) throws IOException {
    out.write((line.replace('\'', '"') + "\n").getBytes(UTF_8));
    out.flush();
  }

  @Test
  void aHandlerAsksTheClientOverTheSameStream() throws IOException {
    PipedOutputStream asking = new PipedOutputStream();
    PipedOutputStream answering = new PipedOutputStream();
    try (McpStdio plain =
            EverythingServer.builder(new EmptyHost())
                .stdio(new PipedInputStream(asking, 1 << 16), answering);
        BufferedReader received =
            new BufferedReader(
                new InputStreamReader(new PipedInputStream(answering, 1 << 16), UTF_8))) {
      for (String line :
          List.of(
              "{'id':1,'method':'initialize','params':{'protocolVersion':'2025-11-25','capabilities':{'sampling':{}}}}",
              "{'id':2,'method':'tools/call','params':{'name':'test_sampling','arguments':{'prompt':'Hi'}}}")) {
        asking.write(
            line.replace("{'id", "{'jsonrpc':'2.0','id").replace('\'', '"').getBytes(UTF_8));
        asking.write('\n');
      }
      asking.flush();
      assertThat(Wired.JSON.readTree(received.readLine()).path("id").asInt()).isEqualTo(1);
      JsonNode asked = Wired.JSON.readTree(received.readLine());
      assertThat(asked.path("method").asText()).isEqualTo("sampling/createMessage");

      asking.write(
          "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"Ho\"}}}\n"
              .formatted(asked.path("id"))
              .getBytes(UTF_8));
      asking.flush();

      JsonNode answer = Wired.JSON.readTree(received.readLine());
      assertThat(answer.at("/result/content/0/text").asText()).isEqualTo("LLM response: Ho");

      plain.changes().updated("test://static-text");
      plain.changes().withoutTool("test_sampling");
      assertThat(Wired.JSON.readTree(received.readLine()).path("method").asText())
          .isEqualTo("notifications/tools/list_changed");
    }
  }
}

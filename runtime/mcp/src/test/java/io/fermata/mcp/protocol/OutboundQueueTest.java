package io.fermata.mcp.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.Events;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.session.call.ToolProgress;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages to a client over HTTP while its call is in flight. */
@Timeout(60)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class OutboundQueueTest {
  private final FakeHost host = new FakeHost();
  private McpServer server;

  @BeforeAll
  void start() {
    server = McpServer.serving(host).port(0).start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private static String call(String meta) {
    return "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"working\",\"_meta\":{%s}}}"
        .formatted(meta);
  }

  private static String token(String token) {
    return "\"progressToken\":" + token;
  }

  private Wired client() {
    return new Wired(server);
  }

  private CompletableFuture<Events> listen(String token) {
    return client().listen(call(token(token)));
  }

  private CompletableFuture<Events> listen(String version, String token) {
    Wired client =
        client()
            .with("MCP-Protocol-Version", version)
            .with("Mcp-Method", "tools/call")
            .with("Mcp-Name", "working");
    String envelope = Wired.META.substring(Wired.META.indexOf('{') + 1, Wired.META.length() - 1);
    return client.listen(
        call(version.equals("2026-07-28") ? envelope + "," + token(token) : token(token)));
  }

  private static byte[] notification(String text) {
    return text.getBytes(UTF_8);
  }

  @Test
  void ofWhatMustNotBeLostTheLatestOfASubjectWaits() {
    OutboundQueue progress = new OutboundQueue(woken -> {});
    progress.send("one", notification("one works"));
    progress.send("two", notification("two works"));
    progress.send(notification("a question"));
    progress.send("one", notification("one is over"));

    assertThat(progress.take())
        .extracting(message -> new String(message, UTF_8))
        .containsExactly("two works", "a question", "one is over");
  }

  @Test
  void aClientThatLetsTooMuchWaitThatMustNotBeLostIsTakenForGone() {
    AtomicInteger gone = new AtomicInteger();
    OutboundQueue progress = new OutboundQueue(woken -> {});
    progress.onDisconnect(gone::incrementAndGet);
    byte[] large = new byte[OutboundQueue.MAX_SENT_BYTES / 4];
    for (int i = 0; i < 40; i++) {
      progress.send("subject " + i, large);
    }
    for (int i = 0; i < 4; i++) {
      progress.send(large);
    }
    assertThat(gone).hasValue(0);

    progress.send(large);

    assertThat(gone).hasValue(1);
    progress.send(large);
    assertThat(progress.take()).isEmpty();
  }

  @Test
  void moreOfHowThingsStandIsLookedAtWhenWhatWaitsWasTaken() {
    AtomicInteger looks = new AtomicInteger();
    OutboundQueue progress = new OutboundQueue(woken -> {});
    byte[] large = new byte[OutboundQueue.MAX_STATE_BYTES / 2];
    progress.send("one", large);
    progress.send("one", large);
    progress.onRoom(looks::incrementAndGet);
    assertThat(looks).hasValue(1);

    progress.send("two", large);
    progress.onRoom(looks::incrementAndGet);
    assertThat(looks).hasValue(1);
    progress.take();
    assertThat(looks).hasValue(2);
    progress.take();
    assertThat(looks).hasValue(2);
  }

  @ParameterizedTest
  @CsvSource({
    "2025-03-26,7",
    "2025-06-18,'\"a token\"'",
    "2025-11-25,0",
    "2026-07-28,12345678901234567890",
    "2026-07-28,'\"☕\"'"
  })
  void progressComesWhileTheCallIsInFlightAndTheAnswerLast(String version, String token)
      throws Exception {
    CompletableFuture<Events> answer = listen(version, token);
    FakeHost.Work work = host.work();
    work.emits("search", "offers", Json.object().put("found", 3));

    Events events = answer.get();
    assertThat(events.status()).isEqualTo(200);
    assertThat(events.streamed()).isTrue();
    assertThat(events.header("X-Accel-Buffering")).isEqualTo("no");
    JsonNode first = events.next();
    assertThat(first)
        .isEqualTo(
            Wired.JSON.readTree(
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1,\"message\":\"offers: {\\\"found\\\":3}\"}}"
                    .formatted(token)));

    work.streams("Good ");
    JsonNode second = events.next();
    assertThat(second.at("/params/message").asText()).isEqualTo("Good ");
    assertThat(second.at("/params/progress").asInt()).isEqualTo(2);

    work.streams("day");
    work.ends();
    List<JsonNode> rest = events.rest();
    assertThat(Events.said(Events.beforeTheResponse(rest))).isEqualTo("day");
    JsonNode response = rest.get(rest.size() - 1);
    assertThat(response.path("id").asInt()).isEqualTo(7);
    assertThat(response.at("/result/content/0/text").asText()).contains("complete");
    assertThat(response.path("result").has("resultType")).isEqualTo(version.equals("2026-07-28"));
  }

  @Test
  void withoutRoomTheLatestProgressOfAHandlerIsSent() {
    OutboundQueue progress = new OutboundQueue(woken -> {});
    int events = 2 * OutboundQueue.ROOM / 100;
    for (int i = 1; i <= events; i++) {
      String json = "{\"progress\":%d,\"fill\":\"%s\"}".formatted(i, "x".repeat(100));
      progress.offerLatest(json.getBytes(UTF_8));
    }

    List<byte[]> taken = progress.take();

    assertThat(taken).hasSizeLessThan(events);
    assertThat(new String(taken.get(taken.size() - 1), UTF_8))
        .contains("\"progress\":" + events + ",");
    assertThat(progress.take()).isEmpty();
  }

  @Test
  void progressKeepsItsOrderAndNumbersOnlyGrow() throws Exception {
    CompletableFuture<Events> answer = listen("1");
    FakeHost.Work work = host.work();
    StringBuilder expected = new StringBuilder();
    List<JsonNode> messages = new ArrayList<>();
    for (int i = 0; i < 45; i++) {
      work.streams("a" + i, "b" + i);
      work.emits("search", "step", TextNode.valueOf(i + ";"));
      expected.append("a" + i + "b" + i + "step: " + i + ";");
      if (i % 15 == 0) {
        // What follows is sent after what has arrived.
        String end = "step: " + i + ";";
        do {
          messages.add(answer.get().next());
        } while (!messages.get(messages.size() - 1).at("/params/message").asText().endsWith(end));
      }
    }
    work.ends();

    messages.addAll(answer.get().rest());
    List<JsonNode> notifications = Events.beforeTheResponse(messages);
    assertThat(Events.said(notifications)).isEqualTo(expected.toString());
    for (int i = 0; i < notifications.size(); i++) {
      assertThat(notifications.get(i).at("/params/progress").asInt()).isEqualTo(i + 1);
    }
  }

  @Test
  void textIsJoinedAndALongOneSplit() throws Exception {
    CompletableFuture<Events> answer = listen("1");
    FakeHost.Work work = host.work();
    String text = "x".repeat(1_999) + "🧑" + "y".repeat(9_000);
    text.chars().forEach(each -> work.streams(String.valueOf((char) each)));
    work.ends();

    List<JsonNode> notifications = Events.beforeTheResponse(answer.get().rest());
    assertThat(Events.said(notifications)).isEqualTo(text);
    assertThat(notifications.size()).isLessThan(text.length() / 100);
    assertThat(notifications)
        .allMatch(it -> it.at("/params/message").asText().length() <= OutboundQueue.MAX_MESSAGE);
  }

  @Test
  void aCharacterStreamedInHalvesArrivesWhole() throws Exception {
    CompletableFuture<Events> answer = listen("1");
    FakeHost.Work work = host.work();
    work.streams("a\ud83e");
    Events events = answer.get();
    assertThat(events.next().at("/params/message").asText()).isEqualTo("a");
    // Time enough to send half a character. A slow machine only makes the test less strict.
    Thread.sleep(3L * OutboundQueue.PAUSE_MILLIS);
    work.streams("\uddd1b", "\ud83e");
    work.ends();

    assertThat(Events.said(Events.beforeTheResponse(events.rest()))).isEqualTo("🧑b\ufffd");
  }

  @Test
  void anEventIsShownBriefly() throws Exception {
    CompletableFuture<Events> answer = listen("1");
    FakeHost.Work work = host.work();
    work.emits("search", "begun", NullNode.getInstance());
    work.emits("search", "big", Json.object().put("fill", "f".repeat(100_000)));
    work.ends();

    List<JsonNode> notifications = Events.beforeTheResponse(answer.get().rest());
    assertThat(notifications.get(0).at("/params/message").asText()).isEqualTo("begun");
    assertThat(notifications.get(1).at("/params/message").asText())
        .startsWith("big: {\"fill\":\"fff")
        .endsWith("f…")
        .hasSize(OutboundQueue.MAX_MESSAGE);
  }

  @Test
  void whatThereIsNoRoomForIsCountedWhereItIsMissing() throws Exception {
    OutboundQueue progress = new OutboundQueue(woken -> {});
    Consumer<ToolProgress> listener = progress.listener(Json.object().put("progressToken", 1));
    listener.accept(ToolProgress.text("write", "x".repeat(10 * OutboundQueue.ROOM)));
    listener.accept(ToolProgress.text("write", "y"));
    listener.accept(new ToolProgress("search", "found", Json.object()));
    List<JsonNode> first = read(progress.take());
    listener.accept(ToolProgress.text("write", "z"));
    List<JsonNode> second = read(progress.end());
    listener.accept(ToolProgress.text("write", "too late"));

    assertThat(Events.said(first))
        .startsWith("xxx")
        .hasSizeLessThan(2 * OutboundQueue.ROOM)
        .endsWith("x… (3 left out)");
    assertThat(Events.said(second)).isEqualTo("z");
    assertThat(second.get(0).at("/params/progress").asInt()).isEqualTo(first.size() + 1);
    assertThat(progress.end()).isEmpty();
  }

  private static List<JsonNode> read(List<byte[]> messages) throws IOException {
    List<JsonNode> read = new ArrayList<>();
    for (byte[] message : messages) {
      read.add(Wired.JSON.readTree(message));
    }
    return read;
  }

  @Test
  void progressIsSentForACallThatIsAnsweredAtOnce() throws Exception {
    String call =
        call(token("1")).replace("\"_meta\"", "\"arguments\":{\"atOnce\":true},\"_meta\"");
    Events events = client().listen(call).get();
    host.work();

    assertThat(Events.said(Events.beforeTheResponse(events.rest())))
        .isEqualTo("offers: {\"found\":3}at once");
  }

  @Test
  void withoutATokenTheAnswerIsPlain() throws Exception {
    CompletableFuture<Events> answer = client().listen(call(""));
    FakeHost.Work work = host.work();
    work.streams("unheard");
    work.ends();

    assertThat(answer.get().plain().has("result")).isTrue();
  }

  @Test
  void withoutProgressTheAnswerIsPlain() throws Exception {
    CompletableFuture<Events> answer = listen("1");
    FakeHost.Work work = host.work();
    work.streams("");
    work.ends();

    assertThat(answer.get().plain().has("result")).isTrue();
    work.streams("too late");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "[1]", "1.5", "true", "null"})
  void whatIsNoTokenAsksForNothing(String token) throws Exception {
    CompletableFuture<Events> answer = listen(token);
    FakeHost.Work work = host.work();
    work.streams("unheard");
    work.ends();

    assertThat(answer.get().plain().has("result")).isTrue();
  }

  @Test
  void aTokenIsBounded() throws Exception {
    CompletableFuture<Events> answer = listen("\"" + "t".repeat(201) + "\"");
    FakeHost.Work work = host.work();
    work.streams("unheard");
    work.ends();

    assertThat(answer.get().plain().has("result")).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "application/json,false",
    "application/*,false",
    "*/*,true",
    "'Text/*, application/json',true"
  })
  void onlyWhoAcceptsAStreamGetsOne(String accept, boolean streamed) throws Exception {
    CompletableFuture<Events> answer = client().with("Accept", accept).listen(call(token("1")));
    FakeHost.Work work = host.work();
    work.streams("read by some");
    work.ends();

    assertThat(answer.get().streamed()).isEqualTo(streamed);
  }

  @Test
  void whoSpeaksAnOldHttpGetsNoStream() throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      send(socket, "1.0", call(token("1")));
      FakeHost.Work work = host.work();
      work.streams("unheard");
      work.ends();

      assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
          .contains("application/json", "complete")
          .doesNotContain("unheard");
    }
  }

  @Test
  void aBatchIsAnsweredPlainly() throws Exception {
    CompletableFuture<Events> answer = client().listen("[" + call(token("1")) + "]");
    FakeHost.Work work = host.work();
    work.streams("unheard");
    work.ends();

    assertThat(answer.get().plain()).hasSize(1);
  }

  @Test
  void anErrorEndsTheStreamToo() throws Exception {
    CompletableFuture<Events> answer = listen("1");
    FakeHost.Work work = host.work();
    work.streams("nearly");
    Events events = answer.get();
    work.reply().completeExceptionally(new IllegalStateException("secret"));

    List<JsonNode> messages = events.rest();
    assertThat(messages).hasSize(2);
    assertThat(messages.get(1).at("/error/code").asInt()).isEqualTo(-32603);
  }

  @Test
  void progressOfManyCallsStaysWithEach() throws Exception {
    List<CompletableFuture<Events>> answers =
        IntStream.range(0, 20).mapToObj(i -> listen("" + i)).toList();
    for (int i = 0; i < 20; i++) {
      FakeHost.Work work = host.work();
      work.streams("some", " text");
      work.ends();
    }
    for (int i = 0; i < 20; i++) {
      List<JsonNode> notifications = Events.beforeTheResponse(answers.get(i).get().rest());
      int token = i;
      assertThat(notifications).allMatch(it -> it.at("/params/progressToken").asInt() == token);
      assertThat(Events.said(notifications)).isEqualTo("some text");
    }
  }

  /**
   * A control character takes six bytes, so that this much is soon more than a connection holds.
   */
  @Test
  void aReaderThatIsSlowMakesTheServerHoldNothing() throws Exception {
    String piece = "\u0001".repeat(OutboundQueue.ROOM - 1_000);
    int rounds = 80;
    try (Socket slow = new Socket()) {
      slow.setReceiveBufferSize(8 * 1024);
      slow.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
      slow.setSoTimeout(60_000);
      send(slow, "1.1", call(token("1")));
      FakeHost.Work work = host.work();
      for (int i = 0; i < rounds; i++) {
        work.streams(piece);
        Thread.sleep(OutboundQueue.PAUSE_MILLIS + 5L);
      }
      work.ends();
      assertThat(client().request("ping", "").status()).isEqualTo(200);

      String read = readUntilTheLastChunk(slow.getInputStream());
      assertThat(read.length()).isLessThan(rounds * piece.length() * 6 / 2);
      assertThat(read).contains("left out");
      assertThat(read.lastIndexOf("\"result\"")).isGreaterThan(read.lastIndexOf("\"progress\""));
    }
  }

  @Test
  void aClientThatLeavesDisturbsNobody() throws Exception {
    for (int i = 0; i < 20; i++) {
      FakeHost.Work work;
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        send(socket, "1.1", call(token("1")));
        work = host.work();
        work.streams("hello");
        assertThat(socket.getInputStream().read()).isPositive();
        socket.setSoLinger(i % 2 == 0, 0);
      }
      for (int piece = 0; piece < 50; piece++) {
        work.streams("nobody reads this".repeat(100));
        Thread.sleep(2);
      }
      work.ends();
    }

    assertThat(client().request("ping", "").status()).isEqualTo(200);
  }

  private static void send(Socket socket, String version, String body) throws IOException {
    String head =
        "POST /mcp HTTP/%s\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n"
            .formatted(version, body.length());
    socket.getOutputStream().write((head + body).getBytes(UTF_8));
  }

  private static String readUntilTheLastChunk(InputStream in) throws IOException {
    StringBuilder text = new StringBuilder();
    byte[] buffer = new byte[1 << 16];
    while (text.length() < 5 || !text.substring(text.length() - 5).equals("0\r\n\r\n")) {
      int read = in.read(buffer);
      assertThat(read).isPositive();
      text.append(new String(buffer, 0, read, UTF_8));
    }
    return text.toString();
  }
}

package io.fermata.mcp.rpc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
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

/** The HTTP server with clients that are wrong, hostile or disconnected. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class SafetyTest {
  private static final String ECHO =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":%s}}";

  private final FakeHost host = new FakeHost();
  private McpServer server;

  @BeforeAll
  void start() {
    server = McpServer.serving(host).port(0).allowedOrigins("https://app.example.com").start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Wired client() {
    return new Wired(server);
  }

  private Wired.Said echo(String arguments) {
    return client().send(ECHO.formatted(arguments));
  }

  @ParameterizedTest
  @CsvSource({
    "http://localhost:3000,200",
    "http://127.0.0.1,200",
    "http://[::1]:9,200",
    "https://app.example.com,200",
    "https://evil.example.com,403",
    "http://localhost.evil.example.com,403",
    "file://localhost,403",
    "null,403"
  })
  void anOriginMustBeAllowed(String origin, int status) {
    Wired.Said said = client().with("Origin", origin).request("ping", "");

    assertThat(said.status()).isEqualTo(status);
    assertThat(said.body().has("error")).isEqualTo(status == 403);
  }

  @ParameterizedTest
  @CsvSource({
    "localhost,200",
    "LOCALHOST:1,200",
    "127.0.0.1:80,200",
    "[::1]:80,200",
    "evil.example.com,403",
    "localhost.evil.example.com,403",
    "'',403"
  })
  void aHostMustBeServed(String name, int status) throws IOException {
    assertThat(raw("GET /mcp HTTP/1.1\r\nHost: " + name + "\r\n\r\n"))
        .startsWith("HTTP/1.1 " + (status == 200 ? 405 : status));
  }

  @Test
  void aRequestNeedsExactlyOneHost() throws IOException {
    assertThat(raw("GET /mcp HTTP/1.1\r\n\r\n")).startsWith("HTTP/1.1 400");
    assertThat(raw("GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"))
        .startsWith("HTTP/1.1 400");
  }

  @Test
  void anUnknownMethodIsNotCutInsideACharacter() {
    String name = "x".repeat(99) + "😀".repeat(9);

    assertThat(client().request(name, "").message()).contains("x".repeat(99) + "…");
  }

  @Test
  void otherPathsAreNotFound() {
    Wired.Said root = client().sendTo("/");
    assertThat(root.status()).isEqualTo(404);
    assertThat(root.message()).contains("/mcp", "/health/ready").doesNotContain("/threads");
    assertThat(client().sendTo("/mcp/more").status()).isEqualTo(404);
  }

  @ParameterizedTest
  @CsvSource({
    "application/json; charset=utf-8,200",
    "application/json;charset=\"UTF-8\",200",
    "application/json;charset=latin1,415",
    "application/jsonx,415",
    "text/plain,415"
  })
  void aBodyMustBeJson(String type, int status) {
    assertThat(client().with("Content-Type", type).request("ping", "").status()).isEqualTo(status);
  }

  @Test
  void aBodyMustSayWhatItIs() {
    assertThat(client().without("Content-Type").request("ping", "").status()).isEqualTo(415);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "nonsense",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} {}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1e999999,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}",
        "{\"a\u0000\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}",
        "{\"\\udc00\\ud800\":1}"
      })
  void whatIsNotJsonIsRefusedInPlainWords(String body) {
    Wired.Said said = client().send(body);

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32700);
    assertThat(said.body().has("id")).isFalse();
    assertThat(said.message()).isNotBlank().doesNotContain("jackson", "Stream", "ObjectNode");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "3",
        "\"ping\"",
        "null",
        "{}",
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}"
      })
  void whatIsNotJsonRpcIsRefused(String body) {
    Wired.Said said = client().send(body);

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32600);
  }

  @Test
  void parametersMustBeObjects() {
    String start = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":";
    assertThat(client().send(start + "[]}").code()).isEqualTo(-32602);
    assertThat(client().send(start + "{\"_meta\":1}}").code()).isEqualTo(-32602);
  }

  @Test
  void depthIsBounded() {
    assertThat(echo(nested(50)).status()).isEqualTo(200);
    Wired.Said said = echo(nested(70));

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.message()).contains("depth 64");
    assertThat(client().send("[".repeat(500_000)).status()).isEqualTo(400);
  }

  private static String nested(int depth) {
    return "{\"a\":".repeat(depth) + "1" + "}".repeat(depth);
  }

  @Test
  void namesAndNumbersAreBounded() {
    assertThat(echo("{\"" + "n".repeat(60_000) + "\":1}").status()).isEqualTo(400);
    assertThat(echo("{\"a\":" + "9".repeat(2_000) + "}").status()).isEqualTo(400);
    assertThat(echo("{\"a\":1e1000000000}").status()).isEqualTo(400);
    assertThat(echo("{\"a\":1e300}").status()).isEqualTo(200);
  }

  @Test
  void textOfEveryScriptComesBackAsItWent() {
    String text = "𝄐 ☕ üñí — 🧑‍🚀";

    assertThat(
            echo("{\"a\":\"\\ud83e\\uddd1 \\\\ud800\"}")
                .body()
                .at("/result/content/0/text")
                .asText())
        .contains("🧑", "ud800");
    assertThat(echo("{\"a\":\"" + text + "\"}").body().at("/result/content/0/text").asText())
        .contains(text);
  }

  @Test
  void textSplitAnywhereIsJoined() throws IOException {
    byte[] body = ECHO.formatted("{\"a\":\"🧑‍🚀\"}").getBytes(UTF_8);
    ByteArrayOutputStream chunked = new ByteArrayOutputStream();
    chunked.writeBytes(head("Transfer-Encoding: chunked"));
    try (Socket socket = connect()) {
      socket.getOutputStream().write(chunked.toByteArray());
      for (byte b : body) {
        socket.getOutputStream().write(new byte[] {'1', '\r', '\n', b, '\r', '\n'});
        socket.getOutputStream().flush();
      }
      socket.getOutputStream().write("0\r\n\r\n".getBytes(UTF_8));

      assertThat(firstResponse(socket)).contains("HTTP/1.1 200", "🧑‍🚀");
    }
  }

  @Test
  void brokenUtf8IsRefused() {
    for (byte[] broken : List.of(bytes(0xC0, 0xAF), bytes(0xED, 0xA0, 0x80), bytes(0xFF))) {
      byte[] body = ECHO.formatted("{\"a\":\"##########\"}").getBytes(UTF_8);
      int at = new String(body, UTF_8).indexOf('#');
      System.arraycopy(broken, 0, body, at, broken.length);

      Wired.Said said = client().send(body);

      assertThat(said.status()).isEqualTo(400);
      assertThat(said.message()).contains("UTF-8");
    }
  }

  private static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    IntStream.range(0, values.length).forEach(i -> bytes[i] = (byte) values[i]);
    return bytes;
  }

  @Test
  void otherEncodingsAreRefusedAndAByteOrderMarkIsNot() {
    String ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    assertThat(client().send(ping.getBytes(StandardCharsets.UTF_16LE)).status()).isEqualTo(400);
    assertThat(client().send("\uFEFF" + ping).status()).isEqualTo(200);
  }

  @Test
  void aBodyOfTheLargestSizeIsServed() {
    String frame = ECHO.formatted("{\"a\":\"\"}");
    String fill = "x".repeat(JsonRpcCodec.MAX_BYTES - frame.length());

    assertThat(echo("{\"a\":\"" + fill + "\"}").status()).isEqualTo(200);
    assertThat(echo("{\"a\":\"" + fill + "x\"}").status()).isEqualTo(413);
  }

  @Test
  void aBodyThatIsMuchTooLongIsRefusedHoweverItIsSent() {
    byte[] body = new byte[10_000_000];
    Arrays.fill(body, (byte) ' ');

    Wired.Said whole = client().send(body);
    Wired.Said chunked =
        client().send(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)));

    assertThat(whole.status()).isEqualTo(413);
    assertThat(chunked.status()).isEqualTo(413);
    assertThat(chunked.message()).contains("1048576");
    assertThat(client().request("ping", "").status()).isEqualTo(200);
  }

  @Test
  void aClientThatExpectsContinueForTooMuchIsRefused() throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(head("Expect: 100-continue\r\nContent-Length: 99999999"));

      assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
          .startsWith("HTTP/1.1 413");
    }
  }

  @Test
  void aClientThatExpectsContinueGetsIt() throws IOException {
    byte[] body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".getBytes(UTF_8);
    try (Socket socket = connect()) {
      socket
          .getOutputStream()
          .write(head("Expect: 100-continue\r\nContent-Length: " + body.length));
      assertThat(firstResponse(socket)).startsWith("HTTP/1.1 100");
      socket.getOutputStream().write(body);

      assertThat(firstResponse(socket)).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void whoNeverStopsSendingIsCutOff() throws IOException {
    byte[] chunk = ("10000\r\n" + "x".repeat(0x10000) + "\r\n").getBytes(UTF_8);
    try (Socket socket = connect()) {
      socket.getOutputStream().write(head("Transfer-Encoding: chunked"));
      long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();

      assertThatThrownBy(
              () -> {
                while (System.nanoTime() - end < 0) {
                  socket.getOutputStream().write(chunk);
                }
              })
          .isInstanceOf(IOException.class);
    }
  }

  @Test
  void headersAreBounded() throws IOException {
    String much = "X-Much: " + "m".repeat(40_000);
    assertThat(raw("GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + much + "\r\n\r\n"))
        .startsWith("HTTP/1.1 431");
    assertThat(raw("GET /" + "p".repeat(9_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        .contains(" 414 ");
    assertThat(raw("what is this\r\n\r\n")).contains(" 400 ");
  }

  @Test
  void whatIsNoHttpIsRefusedWithTheReasonAndItsConnectionIsClosed() throws IOException {
    assertThat(raw("GET /" + "p".repeat(9_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        .contains(" 414 ", "connection: close", "\"uri_too_long\"", "exceeds 4096 bytes");
    assertThat(raw(new String(head("X-Much: " + "m".repeat(20_000)), UTF_8)))
        .contains(" 431 ", "connection: close", "\"jsonrpc\"", "exceed 16384 bytes");
    for (String wrong :
        List.of(
            "Content-Length: many",
            "Content-Length: 2\r\nContent-Length: 3",
            "Content-Length: 2\r\nTransfer-Encoding: chunked")) {
      assertThat(raw(new String(head(wrong), UTF_8)))
          .as(wrong)
          .contains(" 400 ", "connection: close", "not valid HTTP", "Content-Length");
    }
    try (Socket socket = connect()) {
      socket.getOutputStream().write("what is this\r\n\r\n".getBytes(UTF_8));
      firstResponse(socket);
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    }
  }

  @ParameterizedTest
  @CsvSource({"identity,200", "Identity,200", "gzip,415", "'gzip, identity',415"})
  void aBodyMustNotBeCompressed(String encoding, int status) {
    Wired.Said said = client().with("Content-Encoding", encoding).request("ping", "");

    assertThat(said.status()).isEqualTo(status);
    assertThat(said.message()).contains(status == 200 ? "" : "without a Content-Encoding");
  }

  @Test
  void aClientThatLeavesDuringACallDisturbsNobody() throws Exception {
    byte[] body = ECHO.replace("echo", "working").formatted("{}").getBytes(UTF_8);
    List<FakeHost.Work> left = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      boolean whole = i % 2 == 0;
      try (Socket socket = connect()) {
        socket.getOutputStream().write(head("Content-Length: " + body.length));
        socket.getOutputStream().write(body, 0, whole ? body.length : body.length / 2);
        if (whole) {
          left.add(host.work());
        }
        socket.setSoLinger(true, 0);
      }
    }
    left.forEach(FakeHost.Work::ends);

    assertThat(client().request("ping", "").status()).isEqualTo(200);
  }

  @Test
  void slowCallsHoldNoThreads() throws Exception {
    byte[] body = ECHO.replace("echo", "working").formatted("{}").getBytes(UTF_8);
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < 200; i++) {
        Socket socket = connect();
        sockets.add(socket);
        assertThat(alive(socket)).startsWith("HTTP/1.1 200");
      }
      int threadsBefore = Thread.activeCount();
      for (Socket socket : sockets) {
        socket.getOutputStream().write(head("Content-Length: " + body.length));
        socket.getOutputStream().write(body);
      }
      List<FakeHost.Work> works = IntStream.range(0, 200).mapToObj(i -> host.work()).toList();
      int threadsDuring = Thread.activeCount();
      works.forEach(FakeHost.Work::ends);
      for (Socket socket : sockets) {
        assertThat(firstResponse(socket)).startsWith("HTTP/1.1 200");
      }
      assertThat(threadsDuring - threadsBefore).isLessThan(10);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @Test
  void manyClientsAtOnceGetTheirOwnAnswers() {
    var clients = Executors.newFixedThreadPool(8);
    try {
      List<CompletableFuture<String>> all =
          IntStream.range(0, 200)
              .mapToObj(
                  i ->
                      CompletableFuture.supplyAsync(
                          () -> echo("{\"n\":" + i + "}").result().at("/content/0/text").asText(),
                          clients))
              .toList();
      for (int i = 0; i < 200; i++) {
        assertThat(all.get(i).join()).contains("{\"n\":" + i + "}");
      }
    } finally {
      clients.shutdown();
    }
  }

  @Test
  void aConnectionBeyondTheLimitReplacesTheLeastRecentlyUsed() throws Exception {
    try (McpServer small = McpServer.serving(host).port(0).maxConnections(2).start();
        Socket one = new Socket(InetAddress.getLoopbackAddress(), small.port());
        Socket two = new Socket(InetAddress.getLoopbackAddress(), small.port())) {
      assertThat(alive(one)).contains("200 OK");
      assertThat(alive(two)).contains("200 OK");
      try (Socket three = new Socket(InetAddress.getLoopbackAddress(), small.port())) {
        assertThat(alive(three)).contains("200 OK");
        assertThat(closed(one)).isTrue();
        assertThat(alive(two)).contains("200 OK");
      }
    }
  }

  private static String alive(Socket socket) throws IOException {
    socket.setSoTimeout(60_000);
    socket
        .getOutputStream()
        .write("GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(UTF_8));
    return firstResponse(socket);
  }

  private static boolean closed(Socket socket) throws IOException {
    socket.setSoTimeout(60_000);
    try {
      return socket.getInputStream().read() == -1;
    } catch (SocketException reset) {
      return true;
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 1_000})
  @Timeout(15)
  void aSilentConnectionIsClosed(int millis) throws Exception {
    try (McpServer strict =
            McpServer.serving(host).port(0).idleTimeout(Duration.ofMillis(millis)).start();
        Socket silent = new Socket(InetAddress.getLoopbackAddress(), strict.port())) {
      assertThat(closed(silent)).isTrue();
    }
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    socket.setSoTimeout(60_000);
    return socket;
  }

  private static byte[] head(String more) {
    return ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + more
            + "\r\n\r\n")
        .getBytes(UTF_8);
  }

  private String raw(String request) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(request.getBytes(UTF_8));
      return firstResponse(socket);
    }
  }

  /** Reads a response: its head, and as much of a body as the head announces. */
  private static String firstResponse(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    int b = in.read();
    while (b >= 0) {
      all.write(b);
      if (b == '\n' && all.toString(UTF_8).endsWith("\r\n\r\n")) {
        break;
      }
      b = in.read();
    }
    String head = all.toString(UTF_8);
    int at = head.indexOf("content-length: ");
    if (at >= 0) {
      int length = Integer.parseInt(head.substring(at + 16, head.indexOf('\r', at)));
      all.writeBytes(in.readNBytes(length));
    }
    return all.toString(UTF_8);
  }
}

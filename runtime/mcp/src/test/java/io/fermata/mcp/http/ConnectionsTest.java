package io.fermata.mcp.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.ManualTime;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.Gauge;
import io.vertx.core.Future;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.net.SocketAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Clients that open connections and keep them, on real sockets. */
@Timeout(60)
@Tag("slow")
class ConnectionsTest {
  private static final String NOOP = call("noop");
  private static final String PLAIN = call("plain");
  private static final String LARGE = call("large");
  private static final String WORKING = call("working");

  /** A connection whose client does not read, so that it stays open. */
  private static final HttpConnection NEVER_CLOSED =
      (HttpConnection)
          Proxy.newProxyInstance(
              HttpConnection.class.getClassLoader(),
              new Class<?>[] {HttpConnection.class},
              (proxy, method, arguments) ->
                  method.getName().equals("remoteAddress")
                      ? SocketAddress.inetSocketAddress(1, "127.0.0.1")
                      : Future.succeededFuture());

  private final FakeHost host = new FakeHost();
  private final Map<String, Integer> refusals = new ConcurrentHashMap<>();
  private final ManualTime time = new ManualTime();
  private final List<Socket> sockets = new ArrayList<>();
  private final AtomicInteger answers = new AtomicInteger();
  private @Nullable McpServer server;
  private @Nullable List<Gauge> gauges;

  @AfterEach
  void stop() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    if (server != null) {
      server.close();
    }
  }

  private McpServer server() {
    return Objects.requireNonNull(server, "serve(…) comes first");
  }

  private int connections() {
    return Objects.requireNonNull(gauges, "serve(…) comes first").stream()
        .filter(gauge -> gauge.meter() == Meter.CONNECTIONS)
        .mapToInt(gauge -> (int) gauge.value().getAsDouble())
        .sum();
  }

  private void serve(UnaryOperator<McpServerBuilder> settings) {
    Telemetry telemetry =
        new Telemetry() {
          @Override
          public void measured(Meter meter, double value, List<String> tags) {
            if (meter == Meter.REFUSALS) {
              refusals.merge(tags.get(0), (int) value, Integer::sum);
            }
          }

          @Override
          public void opened(List<Gauge> opened) {
            gauges = opened;
          }
        };
    McpServerBuilder builder =
        time.of(McpServer.serving(host)).port(0).apiKey("ann", "secret").telemetry(telemetry);
    server = settings.apply(builder).start();
  }

  /** Event loops accept side by side: waits until connections that were opened have their place. */
  private void awaitReplaced(int count) throws InterruptedException {
    while (refusals.getOrDefault("replaced", 0) < count) {
      Thread.sleep(10);
    }
  }

  @Test
  void idleConnectionsWithoutAKeyShutNobodyOut() throws Exception {
    serve(builder -> builder.maxConnections(8));
    for (int i = 0; i < 40; i++) {
      connect("127.0.0.1");
    }
    awaitReplaced(32);

    assertThat(exchange(connect("127.0.0.1"), health())).startsWith("HTTP/1.1 200");
    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 200");
    assertThat(exchange(connect("127.0.0.2"), post(NOOP))).startsWith("HTTP/1.1 200");
  }

  @Test
  void requestsThatAreRefusedForTheirKeyHoldNoPlace() throws Exception {
    serve(builder -> builder.maxConnections(4));
    String stranger = post(NOOP).replace("secret", "guess").replace("0\r\n\r\n", "");
    for (int i = 0; i < 20; i++) {
      // Their bodies never end.
      write(connect("127.0.0.1"), stranger);
    }
    awaitReplaced(16);

    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 200");
  }

  @Test
  void requestsWithAKeyWhoseBodiesTrickleHoldNoPlace() throws Exception {
    serve(builder -> builder.maxConnections(4).apiKey("bob", "other"));
    for (int i = 0; i < 20; i++) {
      // Their bodies never end.
      write(connect("127.0.0.1"), post(NOOP).replace("0\r\n\r\n", ""));
    }
    awaitReplaced(16);

    String bobs = post(NOOP).replace("secret", "other");
    assertThat(exchange(connect("127.0.0.1"), bobs)).startsWith("HTTP/1.1 200");
  }

  @Test
  void aRequestWithAKeyThatArrivesSlowlyOutlivesConnectionsWithoutOne() throws Exception {
    serve(builder -> builder.maxConnections(2));
    Socket slow = connect("127.0.0.1");
    String end = "0\r\n\r\n";
    write(
        slow,
        post(NOOP)
            .replace("Transfer-Encoding", "Expect: 100-continue\r\nTransfer-Encoding")
            .replace(end, ""));
    assertThat(response(slow)).startsWith("HTTP/1.1 100");
    for (int i = 0; i < 20; i++) {
      connect("127.0.0.1");
    }
    awaitReplaced(19);

    assertThat(exchange(slow, end)).startsWith("HTTP/1.1 200");
  }

  @Test
  void healthIsServedWhileCallsInFlightTakeAllConnections() throws IOException {
    serve(builder -> builder.maxConnections(3).metrics(() -> "up 1\n"));
    List<Socket> busy = new ArrayList<>();
    List<FakeHost.Work> works = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Socket socket = connect("127.0.0.1");
      busy.add(socket);
      write(socket, post(WORKING));
      works.add(host.work());
    }

    assertThat(exchange(connect("127.0.0.1"), health())).startsWith("HTTP/1.1 200");
    assertThat(exchange(connect("127.0.0.1"), get("/metrics"))).startsWith("HTTP/1.1 200");
    String refused = exchange(connect("127.0.0.1"), post(NOOP));
    assertThat(refused).startsWith("HTTP/1.1 503").containsIgnoringCase("retry-after");

    works.forEach(FakeHost.Work::ends);
    for (Socket socket : busy) {
      assertThat(response(socket)).startsWith("HTTP/1.1 200");
    }
    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 200");
  }

  @Test
  void aStreamHoldsItsPlaceOnceItsRequestHasArrived() throws IOException {
    serve(builder -> builder.maxConnections(1));
    String request = stream("");
    Socket listening = connect("127.0.0.1");
    assertThat(exchange(listening, request)).startsWith("HTTP/1.1 200");

    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 503");
  }

  @Test
  void aConnectionBeyondTheLimitIsUsedOnceThereIsRoom() throws IOException {
    serve(builder -> builder.maxConnections(1));
    Socket busy = connect("127.0.0.1");
    write(busy, post(WORKING));
    FakeHost.Work work = host.work();
    Socket waiting = connect("127.0.0.1");
    assertThat(exchange(waiting, health())).startsWith("HTTP/1.1 200");

    work.ends();
    assertThat(response(busy)).startsWith("HTTP/1.1 200");
    // Served by the event loop that has ended the call by then.
    assertThat(exchange(busy, health())).startsWith("HTTP/1.1 200");

    assertThat(exchange(waiting, post(NOOP))).startsWith("HTTP/1.1 200");
  }

  @Test
  void aConnectionWhoseCallHasJustEndedOutlivesOneThatIsIdle() throws Exception {
    serve(builder -> builder.maxConnections(2));
    Socket working = connect("127.0.0.1");
    write(working, post(WORKING));
    FakeHost.Work work = host.work();
    Socket idle = connect("127.0.0.1");
    assertThat(exchange(idle, post(NOOP))).startsWith("HTTP/1.1 200");
    work.ends();
    assertThat(response(working)).startsWith("HTTP/1.1 200");

    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 200");

    assertThat(exchange(working, post(NOOP))).startsWith("HTTP/1.1 200");
    assertThat(closed(idle)).isTrue();
  }

  @Test
  @Tag("long")
  void pipelinedRequestsAreServedWhileConnectionsAreReplaced() throws Exception {
    // Its responses end on a thread that does not read the next request.
    McpTool plain = McpTool.of("plain", "Done").call(call -> McpResult.text("done"));
    serve(builder -> builder.maxConnections(10).perPrincipal(unlimited()).tool(plain));
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      clients.add(new Thread(() -> untilInterrupted(this::pipelines)));
    }
    for (int i = 0; i < 8; i++) {
      clients.add(new Thread(() -> untilInterrupted(this::connects)));
    }
    clients.forEach(Thread::start);
    Thread.sleep(2_000);
    long[] deadlocked = ManagementFactory.getThreadMXBean().findMonitorDeadlockedThreads();
    clients.forEach(Thread::interrupt);
    for (Thread client : clients) {
      client.join();
    }

    assertThat(deadlocked).isNull();
    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 200");
  }

  private interface Exchanging {
    void run() throws IOException;
  }

  private static void untilInterrupted(Exchanging exchanging) {
    while (!Thread.currentThread().isInterrupted()) {
      try {
        exchanging.run();
      } catch (IOException replaced) {
        // The next connection follows.
      }
    }
  }

  private void pipelines() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server().port())) {
      socket.setSoTimeout(1_000);
      int length = exchange(socket, post(PLAIN)).length();
      for (int i = 0; i < 1_000; i++) {
        write(socket, post(PLAIN).repeat(20));
        socket.getInputStream().readNBytes(20 * length);
      }
    }
  }

  private void connects() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server().port())) {
      socket.setSoTimeout(1_000);
      closed(socket);
    }
  }

  private static PrincipalLimits unlimited() {
    return PrincipalLimits.DEFAULT.callsPerSecond(Double.POSITIVE_INFINITY, 1_000_000);
  }

  @Test
  void aReplacedConnectionThatIsNotReadServesNoFurtherCall() throws Exception {
    serve(builder -> builder.maxConnections(2).tool(large()));
    Socket replaced = unread();
    unread();
    unread();
    awaitReplaced(1);
    assertThat(connections()).isEqualTo(2);

    write(replaced, post(LARGE));
    assertThat(closed(replaced)).isTrue();

    assertThat(answers).hasValue(3);
    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 200");
  }

  @Test
  void aReplacedConnectionThatIsNotReadIsClosedWhateverItSendsAndHoweverLongOthersMayBeIdle()
      throws Exception {
    serve(builder -> builder.maxConnections(1).idleTimeout(Duration.ZERO).tool(large()));
    Socket replaced = unread();
    unread();
    awaitReplaced(1);

    Thread trickle = trickle(replaced, post(LARGE));
    trickle.join();

    assertThat(answers).hasValue(2);
    assertThat(connections()).isEqualTo(1);
  }

  @Test
  void aConnectionWhoseEndIsAnnouncedServesNoFurtherCall() throws Exception {
    serve(builder -> builder.tool(large()));
    Socket socket = connect("127.0.0.1");
    String refused =
        post(NOOP)
            .replace("secret", "guess")
            .replace("Transfer-Encoding", "Expect: 100-continue\r\nTransfer-Encoding");

    assertThat(exchange(socket, refused + post(LARGE)))
        .startsWith("HTTP/1.1 401")
        .contains("connection: close");

    assertThat(closed(socket)).isTrue();
    assertThat(answers).hasValue(0);
  }

  @Test
  void replacedConnectionsThatAreNotReadShutNobodyOut() {
    Connections connections =
        new Connections(HttpLimits.DEFAULT.maxConnections(4), new Telemetry() {}, System::nanoTime);
    for (int i = 0; i < 3_000; i++) {
      OpenConnection next = new OpenConnection(NEVER_CLOSED, () -> {}, i);

      connections.opened(next);

      assertThat(next.servesMore()).isTrue();
      assertThat(connections.mayServe(next)).isTrue();
    }
    assertThat(connections.count()).isEqualTo(4);
  }

  /** A tool whose answer is larger than what the system keeps of a connection that is not read. */
  private McpTool large() {
    return McpTool.of("large", "Answers at length")
        .callAtOnce(
            call -> {
              answers.incrementAndGet();
              return McpResult.text("x".repeat(16_000_000));
            });
  }

  /** A connection whose answer has begun and is not read. */
  private Socket unread() throws IOException {
    Socket socket = connect("127.0.0.1");
    write(socket, post(LARGE));
    assertThat(socket.getInputStream().read()).isEqualTo('H');
    return socket;
  }

  @Test
  void oneAddressLeavesRoomForOthers() throws IOException {
    serve(builder -> builder.maxConnections(100).maxConnectionsPerAddress(2));
    List<FakeHost.Work> works = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      write(connect("127.0.0.1"), post(WORKING));
      works.add(host.work());
    }

    assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 503");
    assertThat(exchange(connect("127.0.0.2"), post(NOOP))).startsWith("HTTP/1.1 200");
    works.forEach(FakeHost.Work::ends);
  }

  @Test
  void aBodyThatTricklesIsRefusedAtTheDeadline() throws Exception {
    serve(builder -> builder.requestTimeout(Duration.ofSeconds(1)));
    Socket slow = connect("127.0.0.1");
    write(slow, post(NOOP).replace("0\r\n\r\n", ""));
    Thread trickle = trickle(slow, "1\r\n \r\n");

    assertThat(response(slow)).startsWith("HTTP/1.1 408");
    assertThat(closed(slow)).isTrue();
    trickle.interrupt();
    trickle.join();
    assertThat(host.calls).isEmpty();
  }

  @Test
  void aBodyThatTricklesWithoutAKeyIsClosedAtTheDeadline() throws Exception {
    serve(builder -> builder.requestTimeout(Duration.ofSeconds(1)));
    Socket slow = connect("127.0.0.1");
    write(slow, post(NOOP).replace("secret", "guess").replace("0\r\n\r\n", ""));
    Thread trickle = trickle(slow, "1\r\n \r\n");

    response(slow);
    assertThat(closed(slow)).isTrue();
    trickle.interrupt();
    trickle.join();
  }

  @Test
  void aStreamWhoseRequestDoesNotEndIsClosedAtTheDeadline() throws Exception {
    serve(builder -> builder.requestTimeout(Duration.ofSeconds(1)));
    Socket listening = connect("127.0.0.1");
    write(listening, stream("Content-Length: 10\r\n"));

    assertThat(response(listening)).startsWith("HTTP/1.1 200");
    assertThat(closed(listening)).isTrue();
  }

  /** A request for the stream of a new session. */
  private String stream(String header) throws IOException {
    String opening =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}";
    String welcome =
        exchange(
            connect("127.0.0.1"), post(opening).replace("Accept: ", "Accept: text/event-stream, "));
    Matcher session = Pattern.compile("(?i)mcp-session-id: (\\S+)").matcher(welcome);
    assertThat(session.find()).as(welcome).isTrue();
    return get("/mcp")
        .replace(
            "\r\n\r\n",
            "\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
                + header
                + "Mcp-Session-Id: "
                + session.group(1)
                + "\r\n\r\n");
  }

  @Test
  void headersThatTrickleAreClosedAtTheDeadline() throws Exception {
    serve(builder -> builder.requestTimeout(Duration.ofSeconds(1)));
    Socket slow = connect("127.0.0.1");
    write(slow, "GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    Thread trickle = trickle(slow, "x");

    assertThat(closed(slow)).isTrue();
    trickle.interrupt();
    trickle.join();
  }

  @Test
  void headersOfALaterRequestThatTrickleAreClosedAtTheirDeadline() throws Exception {
    serve(builder -> builder.idleTimeout(Duration.ofSeconds(1)));
    Socket slow = connect("127.0.0.1");
    assertThat(exchange(slow, health())).startsWith("HTTP/1.1 200");
    write(slow, "GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    Thread trickle = trickle(slow, "x");

    assertThat(closed(slow)).isTrue();
    trickle.interrupt();
    trickle.join();
  }

  @Test
  void aConnectionThatWasUsedMayBeIdleForLongerThanARequestMayTakeToArrive() throws Exception {
    serve(builder -> builder.requestTimeout(Duration.ofSeconds(1)));
    Socket kept = connect("127.0.0.1");
    assertThat(exchange(kept, health())).startsWith("HTTP/1.1 200");
    // Each of these outlives a deadline that began after the response.
    assertThat(closed(connect("127.0.0.1"))).isTrue();
    assertThat(closed(connect("127.0.0.1"))).isTrue();

    assertThat(exchange(kept, health())).startsWith("HTTP/1.1 200");
  }

  @Test
  void allThatAreClosedOrRefusedAreCountedButFiveAreLoggedAndThenOneInFiveSeconds()
      throws Exception {
    Logger logger = (Logger) LoggerFactory.getLogger(Connections.class);
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    logger.addAppender(lines);
    try {
      serve(builder -> builder.maxConnections(2).requestTimeout(Duration.ofSeconds(1)));
      assertThat(closed(connect("127.0.0.1"))).isTrue();
      for (int i = 0; i < 32; i++) {
        connect("127.0.0.1");
      }
      awaitReplaced(30);
      List<FakeHost.Work> works = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        write(connect("127.0.0.1"), post(WORKING));
        works.add(host.work());
      }
      for (int i = 0; i < 20; i++) {
        assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 503");
      }
      assertThat(lines.list).hasSize(5);

      time.pass(Duration.ofSeconds(5));
      for (int i = 0; i < 10; i++) {
        assertThat(exchange(connect("127.0.0.1"), post(NOOP))).startsWith("HTTP/1.1 503");
      }
      assertThat(lines.list).hasSize(6);
      works.forEach(FakeHost.Work::ends);
    } finally {
      logger.detachAppender(lines);
    }
    assertThat(refusals.get("replaced")).isGreaterThanOrEqualTo(30);
    assertThat(refusals.get("no_room")).isEqualTo(30);
    assertThat(refusals.get("late")).isPositive();
    String last = lines.list.get(5).getFormattedMessage();
    Matcher left = Pattern.compile(".*\\((\\d+) more were not logged\\)").matcher(last);
    assertThat(left.matches()).as(last).isTrue();
    int all = refusals.values().stream().mapToInt(count -> count).sum();
    assertThat(Integer.parseInt(left.group(1))).isBetween(51 - 5, all - 6);
  }

  @Test
  void theAddressesOfAnIpv6NetworkCountAsOne() {
    String one = OpenConnection.network("2001:db8:1:2:3:4:5:6");
    assertThat(OpenConnection.network("2001:db8:1:2:ffff::1")).isEqualTo(one);
    assertThat(OpenConnection.network("2001:db8:1:2::")).isEqualTo(one);
    assertThat(OpenConnection.network("2001:db8:1:3:3:4:5:6")).isNotEqualTo(one);
    assertThat(OpenConnection.network("fe80::1%eth0"))
        .isEqualTo(OpenConnection.network("fe80:0:0:0:9:9:9:9"));
    assertThat(OpenConnection.network("::1")).isEqualTo(OpenConnection.network("0:0:0:0:0:0:0:1"));
    assertThat(OpenConnection.network("10.0.0.1")).isNotEqualTo(OpenConnection.network("10.0.0.2"));
  }

  @Test
  void aCallMayTakeLongerThanItsRequestMayTakeToArrive() throws Exception {
    serve(builder -> builder.requestTimeout(Duration.ofSeconds(1)));
    Socket patient = connect("127.0.0.1");
    write(patient, post(WORKING));
    FakeHost.Work work = host.work();
    Socket idle = connect("127.0.0.1");
    // The deadline of the second connection is later than that of the first.
    assertThat(closed(idle)).isTrue();

    work.ends();

    assertThat(response(patient)).startsWith("HTTP/1.1 200");
  }

  /** Sends a piece again and again, until the connection is closed. */
  private static Thread trickle(Socket socket, String piece) {
    Thread thread =
        new Thread(
            () -> {
              try {
                while (!Thread.currentThread().isInterrupted()) {
                  write(socket, piece);
                  Thread.sleep(50);
                }
              } catch (IOException | InterruptedException e) {
                // The connection is closed, or the test is over.
              }
            });
    thread.start();
    return thread;
  }

  private Socket connect(String from) throws IOException {
    Socket socket = new Socket();
    sockets.add(socket);
    socket.setSoTimeout(30_000);
    socket.bind(new InetSocketAddress(InetAddress.getByName(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server().port()));
    return socket;
  }

  private static String call(String tool) {
    return "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{}}}"
        .formatted(tool);
  }

  private static String health() {
    return "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }

  private static String get(String path) {
    return "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n"
        .formatted(path);
  }

  /** A request whose body is sent in chunks. */
  private static String post(String body) {
    List<String> lines =
        List.of(
            "POST /mcp HTTP/1.1",
            "Host: localhost",
            "Authorization: Bearer secret",
            "Accept: application/json",
            "Content-Type: application/json",
            "Transfer-Encoding: chunked",
            "",
            "%x".formatted(body.length()),
            body,
            "0",
            "",
            "");
    return String.join("\r\n", lines);
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(UTF_8));
  }

  private static String exchange(Socket socket, String request) throws IOException {
    write(socket, request);
    return response(socket);
  }

  /** A response with its body; what was read so far if the connection is closed before its end. */
  private static String response(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try {
      while (!all.toString(UTF_8).endsWith("\r\n\r\n")) {
        int next = in.read();
        if (next < 0) {
          return all.toString(UTF_8);
        }
        all.write(next);
      }
      String head = all.toString(UTF_8);
      int at = head.indexOf("content-length: ");
      if (at >= 0) {
        int length = Integer.parseInt(head.substring(at + 16, head.indexOf('\r', at)));
        all.writeBytes(in.readNBytes(length));
      }
    } catch (SocketException reset) {
      // What was read counts.
    }
    return all.toString(UTF_8);
  }

  private static boolean closed(Socket socket) throws IOException {
    try {
      // The rest of a response.
      socket.getInputStream().transferTo(OutputStream.nullOutputStream());
      return true;
    } catch (SocketException reset) {
      return true;
    }
  }
}

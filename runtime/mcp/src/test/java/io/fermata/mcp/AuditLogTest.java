package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.call.ToolCall;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What is logged of changes by operators and instructors, of refusals, and of all requests. */
@Timeout(120)
class AuditLogTest {
  record Order(String item) {}

  private static final Flow<Order> ORDER =
      Flow.of("order", Order.class)
          .description("Takes an order.")
          .ask("ask_item", q -> q.question("item", "What?"))
          .edge(Flow.START, "ask_item")
          .edge("ask_item", Flow.END)
          .compile();

  /** Keeps the lines of a logger. */
  private static final class Lines extends AppenderBase<ILoggingEvent> {
    final List<String> lines = new CopyOnWriteArrayList<>();
    private final Logger logger;

    Lines(String name) {
      logger = (Logger) LoggerFactory.getLogger(name);
      logger.setLevel(Level.INFO);
      start();
      logger.addAppender(this);
    }

    @Override
    protected void append(ILoggingEvent event) {
      lines.add(event.getFormattedMessage());
    }

    @Override
    public void stop() {
      logger.detachAppender(this);
      logger.setLevel(null);
      super.stop();
    }

    void await(int count) throws InterruptedException {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (lines.size() < count && System.nanoTime() < end) {
        Thread.sleep(10);
      }
      assertThat(lines).hasSize(count);
    }
  }

  private final HttpClient client = HttpClient.newHttpClient();
  private final Lines audit = new Lines("fermata.audit");
  private final Lines access = new Lines("fermata.access");
  private Fermata host;
  private McpServer server;

  @BeforeEach
  void start() {
    Model model = ScriptedModels.saying("Hi.");
    host =
        Fermata.host()
            .store(Store.memory())
            .flow(ORDER)
            .agent(Agent.aiHuman("desk", Prompt.of("desk", model)))
            .start();
    server = builder().start();
  }

  private McpServerBuilder builder() {
    return McpServer.serving(host)
        .runs(host.runs())
        .threads(host.threads())
        .port(0)
        .apiKey("ann", "ann-key")
        .apiKey("ops", "ops-key")
        .apiKey("evil\" outcome=\"done\n\u2028", "evil-key")
        .operators("ops")
        .instructors("ops");
  }

  @AfterEach
  void stop() {
    server.close();
    host.close();
    audit.stop();
    access.stop();
  }

  private String begun() {
    var start = Json.object().put("action", "start").put("intent", "to order");
    return host.call(new ToolCall("order", "ann", start, Json.object(), null))
        .toCompletableFuture()
        .orTimeout(60, TimeUnit.SECONDS)
        .join()
        .meta()
        .at("/fermata~1run/runId")
        .asText();
  }

  private HttpResponse<String> send(String key, String method, String path, String body)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.endpoint().resolve(path))
            .header("authorization", "Bearer " + key)
            .header("content-type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private String line(String operation, String principal, String session, String outcome) {
    return "operation=\"%s\" principal=\"%s\" session=\"%s\" outcome=\"%s\" host=\"127.0.0.1:%d\""
        .formatted(operation, principal, session, outcome, server.port());
  }

  @Test
  void everyChangeByAnOperatorLeavesOneLine() throws Exception {
    String run = begun();
    String path = "/runs/order/" + run;
    String fork = "{\"entry\":1,\"mode\":\"sandbox\",\"answers\":{\"item\":\"s3cret tea\"}}";
    assertThat(send("ops-key", "POST", path + "/forks", fork).statusCode()).isEqualTo(201);
    send("ops-key", "POST", path + "/resolve", "{\"resolution\":\"skip\"}");
    send("ops-key", "POST", path + "/cancel", "");
    send("ops-key", "POST", path + "/cancel", "");
    send("ops-key", "DELETE", path, "");
    send("ops-key", "DELETE", "/principals/ann%20b", "");

    audit.await(6);
    String session = "order/" + run;
    assertThat(audit.lines)
        .containsExactly(
            line("fork", "ops", session, "done"),
            line("resolve_skip", "ops", session, "nothing_to_resolve"),
            line("cancel", "ops", session, "done"),
            line("cancel", "ops", session, "run_cancelled"),
            line("erase", "ops", session, "done"),
            line("erase_principal", "ops", "ann b", "done"));
    assertThat(String.join("", audit.lines)).doesNotContain("s3cret");
  }

  @Test
  void everyInstructionLeavesOneLine() throws Exception {
    HttpResponse<String> created =
        send("ops-key", "POST", "/threads", "{\"agent\":\"desk\",\"tags\":[]}");
    String thread = Json.parse(created.body()).path("threadId").asText();
    String messages = "/threads/" + thread + "/messages";
    send("ops-key", "POST", messages, "{\"content\":\"Hello\"}");
    send("ops-key", "POST", messages, "{\"role\":\"system\",\"content\":\"Be s3cret\"}");
    HttpResponse<String> refused =
        send("ann-key", "POST", messages, "{\"role\":\"system\",\"content\":\"Be s3cret\"}");
    assertThat(refused.statusCode()).isEqualTo(403);

    audit.await(2);
    assertThat(audit.lines)
        .containsExactly(
            line("instruct", "ops", thread, "done"),
            line("instruct", "ann", thread, "may_not_instruct"));
  }

  @Test
  void everyRefusedPermissionAndAuthenticationLeavesOneLine() throws Exception {
    String run = begun();
    send("ann-key", "DELETE", "/runs/order/" + run, "");
    send("ann-key", "GET", "/runs?all=true", "");
    send("ann-key", "DELETE", "/principals/ops", "");
    send("wrong-s3cret", "DELETE", "/runs/order/" + run, "");

    audit.await(4);
    assertThat(audit.lines.subList(0, 3))
        .containsExactly(
            line("erase", "ann", "order/" + run, "may_not_operate"),
            line("list", "ann", "-", "may_not_operate"),
            line("erase_principal", "ann", "ops", "may_not_operate"));
    assertThat(audit.lines.get(3))
        .startsWith(line("authenticate", "-", "-", "unauthorized") + " address=\"");
    assertThat(String.join("", audit.lines)).doesNotContain("s3cret");
  }

  @Test
  void whatAClientSendsCanNeitherForgeALineNorAField() throws Exception {
    String forged = "x\" outcome=\"done\"\r\n2026 INFO operation=\u202eerase\\";
    String path = "/runs/order/" + URLEncoder.encode(forged, StandardCharsets.UTF_8);
    send("evil-key", "DELETE", path.replace("+", "%20"), "");

    audit.await(1);
    String escaped = "\\u0022 outcome=\\u0022done\\u0022\\u000d\\u000a2026 INFO";
    assertThat(audit.lines.get(0))
        .startsWith(
            "operation=\"erase\" principal=\"evil\\u0022 outcome=\\u0022done\\u000a\\u2028\"")
        .contains("session=\"order/x" + escaped + " operation=\\u202eerase\\u005c\"")
        .doesNotContain("\n", "\r", "\u202e", "\u2028");
  }

  @Test
  void requestsAreLoggedOnlyWhereTheServerIsToldTo() throws Exception {
    String run = begun();
    send("ops-key", "GET", "/runs/order/" + run, "");
    server.close();
    assertThat(access.lines).isEmpty();
    server = builder().accessLog().start();

    send("ops-key", "POST", "/runs/order/" + run + "/cancel", "");
    send("wrong", "GET", "/threads/a.b/messages?q=" + run, "");
    send("ops-key", "GET", "/elsewhere/" + run, "");

    access.await(3);
    assertThat(access.lines.get(0))
        .matches(
            "method=\"POST\" path=\"/runs/\\*/\\*/cancel\" status=200 millis=\\d+ principal=\"ops\" address=\"\\S+\"");
    assertThat(access.lines.get(1))
        .matches(
            "method=\"GET\" path=\"/threads/\\*/messages\" status=401 millis=\\d+ principal=\"-\" address=\"\\S+\"");
    assertThat(access.lines.get(2)).contains("path=\"-\" status=404");
    assertThat(String.join("", access.lines)).doesNotContain(run);
  }

  @Test
  void aRequestWhoseClientGoesFirstIsLoggedOnce() throws Exception {
    server.close();
    server = builder().accessLog().start();
    HttpResponse<String> created =
        send("ops-key", "POST", "/threads", "{\"agent\":\"desk\",\"tags\":[]}");
    String thread = Json.parse(created.body()).path("threadId").asText();
    access.await(1);
    String head = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ops-key\r\n";
    String body = "Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    String stream = "GET /threads/" + thread + "/events" + head + "\r\n";

    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.getOutputStream().write(stream.getBytes(StandardCharsets.US_ASCII));
      assertThat(socket.getInputStream().read()).isEqualTo('H');
    }
    access.await(2);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.getOutputStream().write(("POST /mcp" + head + body).getBytes(StandardCharsets.UTF_8));
      Thread.sleep(500);
    }
    access.await(3);
    server.close();

    access.await(3);
    assertThat(access.lines.get(1))
        .contains("path=\"/threads/*/events\" status=200 millis=")
        .contains("principal=\"ops\"");
    assertThat(access.lines.get(2)).contains("path=\"/mcp\" status=- millis=");
  }
}

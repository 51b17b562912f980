package io.fermata.mcp.catalog;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.dispatch.McpDispatcher;
import io.fermata.mcp.dispatch.MethodTable;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpBody;
import io.fermata.mcp.feature.McpMessage;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.legacy.LegacyProtocol;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.mcp.protocol.LegacyEra;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.protocol.ServerIdentity;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.seeds.Seeds;
import io.fermata.session.observe.Telemetry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Invariants of every message, no matter what it contains. */
@Timeout(180)
@Tag("slow")
class FuzzTest {
  private static final Pattern TO_MCP = Pattern.compile("[A-Z]+ /mcp[ ?]");
  private static final Set<Integer> STATUSES =
      Set.of(200, 202, 400, 403, 404, 405, 406, 413, 414, 415, 429, 431, 500);

  /** As strict as a client may be. */
  private static final ObjectMapper STRICT =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  /**
   * The seeds are the same in every build; to search further, start with another one, -Dseed=1000.
   */
  private static void forEverySeed(int seeds, LongConsumer property) {
    long first = Long.getLong("seed", 0);
    LongStream.range(first, first + seeds)
        .forEach(
            seed -> {
              try {
                property.accept(seed);
              } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
              }
            });
  }

  private static final McpTool ADD =
      McpTool.of("add", "Adds")
          .input("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}")
          .callAtOnce(call -> McpResult.text(call.argument("a")));
  private static final McpTool ASKS =
      McpTool.of("asks", "Asks")
          .call(call -> McpResult.text(call.ask("k", McpAsk.roots()).toString()));
  private static final McpResource RESOURCE =
      McpResource.text("test://a", "A", "text/plain", () -> "a");
  private static final McpTemplate TEMPLATE =
      McpTemplate.of(
          "test://t/{id}",
          "T",
          "text/plain",
          call -> McpBody.text(call.name(), "text/plain", call.argument("id")));
  private static final McpPrompt PROMPT =
      McpPrompt.of("greet", "Greets")
          .optional("whom", "Whom")
          .completing("whom", (begun, others) -> List.of("ann", "bob"))
          .get(call -> List.of(McpMessage.user("Hello " + call.argument("whom"))));

  private static McpServer served() {
    return McpServer.serving(new FakeHost())
        .port(0)
        .tool(ADD)
        .tool(ASKS)
        .resource(RESOURCE)
        .template(TEMPLATE)
        .prompt(PROMPT)
        .start();
  }

  private static McpDispatcher core(HandlerExecutor workers) {
    FakeHost host = new FakeHost();
    CallQuotas quotas = new CallQuotas(PrincipalLimits.DEFAULT, System::nanoTime);
    RequestGate gate = new RequestGate();
    Subscriptions subscriptions = new Subscriptions(new StreamQuota(10));
    PeerServers peers = new PeerServers(host.bus());
    MethodTable methods =
        new MethodTable(
            new MethodTable.Dependencies(
                host,
                new ServerIdentity("fuzzed", "1", null),
                RegisteredFeatures.NONE
                    .with(ADD)
                    .with(ASKS)
                    .with(RESOURCE)
                    .with(TEMPLATE)
                    .with(PROMPT),
                subscriptions,
                peers,
                workers,
                gate,
                null,
                new MethodTable.Permissions(quotas, ToolScopes.NONE, false),
                Telemetry.NONE));
    LegacyEra legacy =
        new LegacyProtocol(host, peers, subscriptions, gate, quotas, methods::welcome);
    return new McpDispatcher(methods, legacy, gate, Telemetry.NONE);
  }

  // --- the core --------------------------------------------------------------------------------

  @Test
  void everyMessageHasOneAnswerThatIsWellFormed() {
    Set<Integer> seen = new HashSet<>();
    try (HandlerExecutor workers =
        new HandlerExecutor(HandlerExecutor.THREADS, Integer.MAX_VALUE)) {
      McpDispatcher core = core(workers);
      forEverySeed(
          Seeds.of(6_000),
          seed -> {
            Messages messages = new Messages(new Random(seed));
            byte[] body = messages.body();
            MessageSource arrival = messages.arrival();
            Response answer;
            try {
              answer =
                  core.answer(body, arrival, null).toCompletableFuture().get(60, TimeUnit.SECONDS);
            } catch (Exception e) {
              throw new AssertionError("no answer to " + shown(body), e);
            }
            byte[] said = answer.body;
            check(answer.status, said, body);
            seen.add(answer.status);
          });
    }
    assertThat(seen).contains(200, 202, 400, 404);
  }

  /** The invariants of a response, no matter what was sent. */
  private static void check(int status, byte @Nullable [] said, byte[] sent) {
    assertThat(STATUSES).as("status of the answer to %s", shown(sent)).contains(status);
    if (said == null || said.length == 0) {
      assertThat(status).as("of the empty answer to %s", shown(sent)).isEqualTo(202);
      return;
    }
    JsonNode answer;
    try {
      answer = STRICT.readTree(said);
    } catch (IOException e) {
      throw new AssertionError("to " + shown(sent) + " was said " + shown(said), e);
    }
    List<JsonNode> all = new ArrayList<>();
    if (answer.isArray()) {
      answer.forEach(all::add);
      assertThat(all).isNotEmpty();
    } else {
      all.add(answer);
    }
    for (JsonNode each : all) {
      assertThat(each.path("jsonrpc").asText()).as(shown(said)).isEqualTo("2.0");
      assertThat(each.has("result") ^ each.has("error")).as(shown(said)).isTrue();
      if (each.has("error")) {
        assertThat(each.at("/error/code").isInt()).as(shown(said)).isTrue();
        assertThat(each.at("/error/message").asText()).as(shown(said)).isNotBlank();
        assertThat(each.at("/error/message").asText())
            .as(shown(sent))
            .doesNotContain("Exception", "jackson", "java.", "\n\tat");
      }
    }
    // Only the handlers that fail on purpose fail inside the server.
    if (status == 500) {
      assertThat(new String(sent, UTF_8)).containsAnyOf("failing", "throwing");
      assertThat(answer.at("/error/code").asInt()).isEqualTo(RpcException.INTERNAL_ERROR);
    }
  }

  /** What is no request for MCP is not answered as if it were one. */
  private static void checkElsewhere(byte[] said) {
    try {
      JsonNode answer = STRICT.readTree(said);
      assertThat(answer.has("jsonrpc")).as(shown(said)).isFalse();
      assertThat(answer.at("/error/code").isTextual()).as(shown(said)).isTrue();
      assertThat(answer.at("/error/message").asText()).as(shown(said)).isNotBlank();
    } catch (IOException e) {
      throw new AssertionError(shown(said), e);
    }
  }

  private static String shown(byte[] bytes) {
    String text = new String(bytes, UTF_8);
    return text.length() > 600 ? text.substring(0, 600) + "… (" + text.length() + ")" : text;
  }

  // --- the socket ------------------------------------------------------------------------------

  @Test
  void everyRequestIsAnsweredOverASocketAndTheServerLivesOn() {
    Set<Integer> seen = new HashSet<>();
    try (McpServer server = served()) {
      forEverySeed(
          Seeds.of(1_500),
          seed -> {
            Messages messages = new Messages(new Random(seed));
            byte[] body = messages.body();
            byte[] head = messages.head(body.length);
            String text =
                new String(exchanged(server, head, body), UTF_8)
                    .replaceFirst("^HTTP/1.1 100 Continue\r\n\r\n", "");
            assertThat(text).as(shown(head) + shown(body)).startsWith("HTTP/1.1 ");
            int status = Integer.parseInt(text.substring(9, 12));
            assertThat(STATUSES).as(shown(head)).contains(status);
            int end = text.indexOf("\r\n\r\n");
            String headers = text.substring(0, end).toLowerCase(Locale.ROOT);
            boolean bare = shown(head).startsWith("HEAD");
            if (!bare && headers.contains("content-type: application/json")) {
              byte[] said = text.substring(end + 4).getBytes(UTF_8);
              if (TO_MCP.matcher(shown(head)).lookingAt()) {
                check(status, said, body);
              } else {
                checkElsewhere(said);
              }
            }
            seen.add(status);
          });
      assertThat(seen).contains(200, 202, 400, 403, 404, 405, 406, 415);
      assertThat(new Wired(server).request("ping", "").status()).isEqualTo(200);
    }
  }

  private static byte[] exchanged(McpServer server, byte[] head, byte[] body) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.setSoTimeout(15_000);
      socket.getOutputStream().write(head);
      socket.getOutputStream().write(body);
      return socket.getInputStream().readAllBytes();
    } catch (IOException e) {
      throw new AssertionError("no answer to " + shown(head) + shown(body), e);
    }
  }

  @Test
  void bytesThatAreNoRequestHarmNobody() {
    try (McpServer server = served()) {
      forEverySeed(
          Seeds.of(200),
          seed -> {
            Random random = new Random(seed);
            byte[] noise = new byte[random.nextInt(2_000)];
            random.nextBytes(noise);
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
              socket.setSoTimeout(15_000);
              socket.getOutputStream().write(noise);
              socket.shutdownOutput();
              socket.getInputStream().readAllBytes();
            } catch (IOException reset) {
              // Such a request needs no answer.
            }
          });
      assertThat(new Wired(server).request("ping", "").status()).isEqualTo(200);
    }
  }

  // --- what is sent ----------------------------------------------------------------------------

  /** Messages between the right one and noise. */
  private static final class Messages {
    private static final List<String> METHODS =
        List.of(
            "tools/call",
            "tools/call",
            "initialize",
            "ping",
            "tools/list",
            "tools/call",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "resources/subscribe",
            "resources/unsubscribe",
            "prompts/list",
            "prompts/get",
            "completion/complete",
            "logging/setLevel",
            "server/discover",
            "notifications/initialized",
            "notifications/cancelled",
            "tasks/get",
            "",
            "tools/call\u0000",
            "TOOLS/CALL",
            "../ping");

    private static final List<String> MEMBERS =
        List.of(
            "name",
            "arguments",
            "uri",
            "cursor",
            "ref",
            "argument",
            "context",
            "level",
            "protocolVersion",
            "capabilities",
            "clientInfo",
            "_meta",
            "requestState",
            "inputResponses",
            "notifications",
            "a",
            "",
            "__proto__",
            "progressToken",
            "type",
            "value",
            "whom",
            "toolsListChanged",
            "resourceSubscriptions",
            "\u202e",
            "ä",
            "id");

    private static final List<String> TEXTS =
        List.of(
            "noop",
            "echo",
            "wrong",
            "failing",
            "throwing",
            "add",
            "asks",
            "show_plans",
            "greet",
            "test://a",
            "test://t/1",
            "test://t/%2e%2e",
            "ref/prompt",
            "ref/resource",
            "2026-07-28",
            "2025-11-25",
            "2025-03-26",
            "1999-01-01",
            "debug",
            "",
            " ",
            "\u0000",
            "\u2028",
            "💥",
            "\ufeff",
            "%s%n",
            "../../etc/passwd",
            "' OR 1=1 --",
            "\\",
            "\"",
            "null",
            "A".repeat(5_000));

    private static final List<String> VERSIONS =
        List.of("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "x", "");

    private static final String ENVELOPE =
        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            + "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}";

    private final Random random;
    private String method = "";
    private String name = "";

    Messages(Random random) {
      this.random = random;
    }

    private <T> T any(List<T> of) {
      return of.get(random.nextInt(of.size()));
    }

    private boolean oneIn(int n) {
      return random.nextInt(n) == 0;
    }

    byte[] body() {
      StringBuilder json = new StringBuilder();
      if (oneIn(12)) {
        json.append('[');
        int many = random.nextInt(oneIn(5) ? 60 : 4);
        for (int i = 0; i < many; i++) {
          json.append(i == 0 ? "" : ",");
          message(json);
        }
        json.append(']');
      } else {
        message(json);
      }
      byte[] whole = json.toString().getBytes(UTF_8);
      return oneIn(4) ? broken(whole) : whole;
    }

    private void message(StringBuilder json) {
      if (oneIn(15)) {
        value(json, 0);
        return;
      }
      method = any(METHODS);
      List<String> members = new ArrayList<>();
      members.add("\"jsonrpc\":" + (oneIn(15) ? scalar() : "\"2.0\""));
      if (!oneIn(8)) {
        members.add("\"id\":" + (oneIn(6) ? scalar() : String.valueOf(random.nextInt(100))));
      }
      members.add("\"method\":" + (oneIn(20) ? scalar() : text(method)));
      if (!oneIn(6)) {
        members.add("\"params\":" + (oneIn(10) ? scalar() : params()));
      }
      if (oneIn(10)) {
        members.add(any(List.of("\"result\":{}", "\"error\":{}", "\"id\":1", "\"x\":[]")));
      }
      json.append('{').append(String.join(",", members)).append('}');
    }

    private String params() {
      List<String> members = new ArrayList<>();
      if (random.nextBoolean()) {
        members.add(ENVELOPE);
      }
      name = any(TEXTS);
      if (!oneIn(4)) {
        members.add((method.startsWith("res") ? "\"uri\":" : "\"name\":") + text(name));
      }
      int more = random.nextInt(4);
      for (int i = 0; i < more; i++) {
        StringBuilder value = new StringBuilder();
        value(value, 1);
        members.add(text(any(MEMBERS)) + ":" + value);
      }
      return "{" + String.join(",", members) + "}";
    }

    private void value(StringBuilder json, int depth) {
      int kind = random.nextInt(depth > 4 ? 3 : 6);
      if (kind < 3) {
        json.append(scalar());
      } else if (oneIn(40)) {
        int deep = 10 + random.nextInt(200);
        json.append("[".repeat(deep)).append("]".repeat(deep));
      } else {
        boolean object = kind > 3;
        json.append(object ? '{' : '[');
        int many = random.nextInt(4);
        for (int i = 0; i < many; i++) {
          json.append(i == 0 ? "" : ",");
          if (object) {
            json.append(text(any(MEMBERS))).append(':');
          }
          value(json, depth + 1);
        }
        json.append(object ? '}' : ']');
      }
    }

    private String scalar() {
      return switch (random.nextInt(9)) {
        case 0 -> "null";
        case 1 -> "true";
        case 2 -> String.valueOf(random.nextLong());
        case 3 -> any(List.of("1e9", "-0", "1e400", "1E-999", "0.1", "1e99999", "9".repeat(150)));
        case 4 -> any(List.of("\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\u0000\"", "\"\\u00e9\""));
        default -> text(any(TEXTS));
      };
    }

    private static String text(String text) {
      return Json.text(Json.tree(text));
    }

    private byte[] broken(byte[] whole) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      int at = whole.length == 0 ? 0 : random.nextInt(whole.length);
      switch (random.nextInt(5)) {
        case 0 -> out.write(whole, 0, at);
        case 1 -> {
          out.writeBytes(whole);
          out.writeBytes(whole);
        }
        case 2 -> {
          out.write(whole, 0, at);
          out.write(random.nextInt(256));
          out.write(whole, at, whole.length - at);
        }
        case 3 -> {
          byte[] changed = whole.clone();
          for (int i = 0; i < 3 && changed.length > 0; i++) {
            changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
          }
          out.writeBytes(changed);
        }
        default -> {
          out.writeBytes(whole);
          out.writeBytes("}]\"".substring(random.nextInt(3)).getBytes(UTF_8));
        }
      }
      return out.toByteArray();
    }

    private @Nullable String header(String right) {
      return switch (random.nextInt(6)) {
        case 0 -> null;
        case 1 -> any(List.of("", "x", "=?base64?Zm9v?=", "=?base64?%%%?=", "a, b", "é", "0"));
        default -> right;
      };
    }

    MessageSource arrival() {
      @Nullable String version = oneIn(4) ? header(any(VERSIONS)) : header("2026-07-28");
      return new MessageSource.Post(
          AuthenticatedCaller.trusted("fuzz"),
          version,
          header(method),
          header(name),
          oneIn(10) ? any(List.of("", "x", "A".repeat(43))) : null,
          name -> header(any(TEXTS)),
          null);
    }

    byte[] head(int length) {
      StringBuilder head =
          new StringBuilder(
              any(
                  List.of(
                      "POST", "POST", "POST", "POST", "POST", "PUT", "HEAD", "OPTIONS", "PATCH")));
      head.append(' ')
          .append(any(List.of("/mcp", "/mcp", "/mcp", "/mcp?x=y", "/", "/mcp/", "/%00")));
      head.append(" HTTP/1.1\r\nConnection: close\r\n");
      head.append("Content-Length: ").append(length).append("\r\n");
      line(head, "Host", oneIn(10) ? "evil" : "localhost");
      line(head, "Content-Type", oneIn(10) ? "text/plain" : "application/json");
      line(head, "Accept", oneIn(4) ? "text/html" : "application/json, text/event-stream");
      line(head, "MCP-Protocol-Version", header(any(VERSIONS)));
      line(head, "Mcp-Method", header(method.replace("\u0000", "")));
      line(head, "Mcp-Name", header(name.replaceAll("[^ -~]", "")));
      line(head, "Mcp-Session-Id", oneIn(5) ? "x".repeat(43) : null);
      line(head, "Origin", oneIn(10) ? "https://evil.example.com" : null);
      line(head, "Expect", oneIn(30) ? "100-continue" : null);
      return head.append("\r\n").toString().getBytes(UTF_8);
    }

    private static void line(StringBuilder head, String name, @Nullable String value) {
      if (value != null) {
        head.append(name).append(": ").append(value).append("\r\n");
      }
    }
  }
}

package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.examples.Dinner;
import io.fermata.examples.Stdio;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.Fermata;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The official MCP client for Java, on a real SQLite file. */
@Timeout(600)
@Tag("slow")
class JavaSdkTest {
  /** The client's own limits are for people; here one only ends a test that hangs. */
  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path folder;

  private static McpClientTransport http(McpServer server) {
    return HttpClientStreamableHttpTransport.builder("http://localhost:" + server.port()).build();
  }

  private static McpClient.SyncSpec client(McpClientTransport transport) {
    return McpClient.sync(transport).requestTimeout(TIMEOUT).initializationTimeout(TIMEOUT);
  }

  private static JsonNode call(McpSyncClient client, String flow, Map<String, Object> arguments) {
    McpSchema.CallToolResult result =
        client.callTool(McpSchema.CallToolRequest.builder(flow).arguments(arguments).build());
    JsonNode said = JSON.valueToTree(result.structuredContent());
    assertThat(Boolean.TRUE.equals(result.isError()))
        .isEqualTo(said.path("status").asText().equals("error"));
    return said;
  }

  private static Map<String, Object> proceed(String session, Map<String, Object> updates) {
    return Map.of("action", "continue", "sessionId", session, "stateUpdates", updates);
  }

  /** Drives the quote over two connections, the second of which has only the handle. */
  private static void drivesTheQuote(Supplier<McpClientTransport> connection) {
    String session;
    try (McpSyncClient client = client(connection.get()).build()) {
      client.initialize();
      JsonNode asked = call(client, "quote", Map.of("action", "start", "intent", "a price"));
      assertThat(asked.path("questions")).hasSize(2);
      session = asked.path("sessionId").asText();
      JsonNode refused =
          call(client, "quote", proceed(session, Map.of("name", "Bo", "email", "nope")));
      assertThat(refused.path("code").asText()).isEqualTo("answer_rejected");
    }
    try (McpSyncClient later = client(connection.get()).build()) {
      later.initialize();
      JsonNode shown = call(later, "quote", proceed(session, Map.of("email", "bo@gmail.com")));
      assertThat(shown.path("tool").asText()).isEqualTo("show_plans");
      JsonNode ended = call(later, "quote", proceed(session, Map.of("selectedPlan", "gold")));
      assertThat(ended.path("status").asText()).isEqualTo("complete");
      assertThat(ended.at("/result/name").asText()).isEqualTo("Bo");
      assertThat(ended.at("/result/price").asInt()).isEqualTo(5);
    }
  }

  @Test
  void theJavaSdkDrivesTheQuoteAndResumesItFromAnotherSession() {
    try (ExamplesHost examples = ExamplesHost.start(Store.sqlite(folder.resolve("quote.db")));
        McpServer server = McpServer.serving(examples.host()).port(0).start()) {
      drivesTheQuote(() -> http(server));
    }
  }

  @Test
  @Tag("long")
  void theJavaSdkDrivesTheQuoteInOneProcessAndTheNext() {
    Path file = folder.resolve("stdio.db");
    List<String> command = Stdio.command(file);
    ServerParameters started =
        ServerParameters.builder(command.get(0)).args(command.subList(1, command.size())).build();
    drivesTheQuote(
        () -> {
          awaitFree(file);
          return new StdioClientTransport(started, McpJsonDefaults.getMapper());
        });
  }

  /** The client does not wait for the end of its process. */
  private static void awaitFree(Path file) {
    for (int i = 0; ; i++) {
      try {
        Store.sqlite(file).open().close();
        return;
      } catch (StoreException inUse) {
        if (i == 1_200) {
          throw inUse;
        }
        LockSupport.parkNanos(100_000_000);
      }
    }
  }

  @Test
  void theJavaSdkFillsInForms() {
    Map<String, List<Object>> answers =
        Map.of(
            "name", new ArrayList<>(List.of("Ann")),
            "email", new ArrayList<>(List.of("nope", "Ann@Acme.com")),
            "guests", new ArrayList<>(List.of(3)));
    List<String> asked = new ArrayList<>();
    try (Fermata host = Dinner.host(folder);
        McpServer server = McpServer.serving(host).port(0).start();
        McpSyncClient client =
            client(http(server))
                .capabilities(McpSchema.ClientCapabilities.builder().elicitation().build())
                .elicitation(form -> filled(form, answers, asked))
                .build()) {
      client.initialize();

      JsonNode booked = call(client, "dinner", Map.of("action", "start", "intent", "to eat"));

      assertThat(asked)
          .containsExactly(
              "Who comes?\nHow do we reach you?",
              "That is no email.\nHow do we reach you?",
              "How many are you?");
      assertThat(booked.path("status").asText()).isEqualTo("complete");
      assertThat(booked.at("/result/email").asText()).isEqualTo("ann@acme.com");
    }
  }

  @Test
  void theUserOfTheJavaSdkDecidesAboutTheRefundThatTheDeskProposes() {
    List<String> asked = new ArrayList<>();
    Map<String, List<Object>> answers =
        Map.of("approved", List.of(false), "reason", List.of("I was wrong"));
    try (ExamplesHost examples = ExamplesHost.start(Store.sqlite(folder.resolve("desk.db")));
        McpServer server = McpServer.serving(examples.host()).port(0).start();
        McpSyncClient client =
            client(http(server))
                .capabilities(McpSchema.ClientCapabilities.builder().elicitation().build())
                .elicitation(form -> filled(form, changeable(answers), asked))
                .build()) {
      client.initialize();

      JsonNode decided =
          call(client, "desk", Map.of("action", "send", "message", "Please refund B-1001."));

      assertThat(asked).singleElement().asString().contains("Pay 48 euros back", "B-1001");
      assertThat(decided.path("status").asText()).isEqualTo("rest");
      assertThat(decided.path("messages").toString()).doesNotContain("on its way");
    }
  }

  private static Map<String, List<Object>> changeable(Map<String, List<Object>> answers) {
    Map<String, List<Object>> copy = new LinkedHashMap<>();
    answers.forEach((field, values) -> copy.put(field, new ArrayList<>(values)));
    return copy;
  }

  private static Object next(Map<String, List<Object>> answers, String field) {
    return Objects.requireNonNull(answers.get(field), field).remove(0);
  }

  private static McpSchema.ElicitResult filled(
      McpSchema.ElicitFormRequest form, Map<String, List<Object>> answers, List<String> asked) {
    asked.add(form.message());
    Map<String, Object> content = new LinkedHashMap<>();
    JSON.valueToTree(form.requestedSchema())
        .path("properties")
        .fieldNames()
        .forEachRemaining(field -> content.put(field, next(answers, field)));
    return McpSchema.ElicitResult.builder(McpSchema.ElicitResult.Action.ACCEPT)
        .content(content)
        .build();
  }
}

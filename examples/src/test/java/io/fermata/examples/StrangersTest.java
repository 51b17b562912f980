package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.cli.Cli;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What others on the machine or the network do to a server does not stop it. */
@Timeout(600)
@Tag("slow")
class StrangersTest {
  /** As many connections as a server has by default, and twice those of one address. */
  private static final int CROWD = 4_096;

  private static final String CALL =
      """
      {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quote",
       "arguments":{"action":"start","intent":"wants a price"}}}""";

  private static final int TRICKLING = 100;

  @TempDir Path directory;

  private ServerProcess server(String... options) throws Exception {
    List<String> all =
        new ArrayList<>(List.of("serve", "--port", "0", "--store", "sqlite:test.db"));
    all.addAll(List.of(options));
    return ServerProcess.start(directory, all.toArray(String[]::new));
  }

  private static ObjectNode start() {
    return Json.object().put("action", "start").put("intent", "wants a price");
  }

  private static ObjectNode cancel(JsonNode run) {
    return Json.object()
        .put("action", "cancel")
        .put("sessionId", run.path("sessionId").textValue());
  }

  private static int health(ServerProcess server) throws Exception {
    HttpRequest live = HttpRequest.newBuilder(server.at("/health/ready")).build();
    return HttpClient.newHttpClient().send(live, BodyHandlers.discarding()).statusCode();
  }

  @Test
  @Tag("long")
  void thousandsOfIdleAndTricklingConnectionsWithoutAKeyShutNobodyOut() throws Exception {
    List<Socket> crowd = new ArrayList<>();
    try (ServerProcess server = server("--api-key", "ann=s3cret")) {
      for (int i = 0; i < CROWD; i++) {
        crowd.add(connect(server));
      }
      for (int i = 0; i < TRICKLING; i++) {
        Socket slow = connect(server);
        crowd.add(slow);
        write(slow, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
      }

      for (int round = 0; round < 3; round++) {
        for (Socket slow : crowd.subList(CROWD, crowd.size())) {
          write(slow, "x");
        }
        assertThat(health(server)).isEqualTo(200);
        for (String caller : List.of("127.0.0.1", "127.0.0.2")) {
          assertThat(reply(server, caller))
              .startsWith("HTTP/1.1 200")
              .contains("\"status\":\"interrupt\"");
        }
      }
      assertThat(Files.readString(directory.resolve("errors.txt")))
          .contains(
              "A connection of 127.0.0.1 without a call was closed for a new one: its address has"
                  + " maxConnectionsPerAddress connections");
    } finally {
      for (Socket socket : crowd) {
        socket.close();
      }
    }
  }

  private static Socket connect(ServerProcess server) throws IOException {
    Socket socket = new Socket();
    socket.connect(at(server), 30_000);
    return socket;
  }

  private static InetSocketAddress at(ServerProcess server) {
    return new InetSocketAddress(server.endpoint().getHost(), server.endpoint().getPort());
  }

  /** What a caller with a key gets at its own address. */
  private static String reply(ServerProcess server, String address) throws IOException {
    try (Socket caller = new Socket()) {
      caller.bind(new InetSocketAddress(address, 0));
      caller.connect(at(server), 30_000);
      caller.setSoTimeout(60_000);
      String head =
          """
          POST /mcp HTTP/1.1
          Host: localhost
          Connection: close
          Authorization: Bearer s3cret
          Content-Type: application/json
          Accept: application/json, text/event-stream
          MCP-Protocol-Version: 2025-11-25
          Content-Length: %d

          """;
      String request = head.formatted(CALL.length()).replace("\n", "\r\n") + CALL;
      caller.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(caller.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static void write(Socket socket, String text) {
    try {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    } catch (IOException e) {
      // It was closed for another one.
    }
  }

  @Test
  void aSecondServerThroughAHardLinkIsRefusedAndTheFirstContinues() throws Exception {
    try (ServerProcess server = server()) {
      JsonNode run = server.call("quote", start());
      Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
      Files.createLink(elsewhere.resolve("link.db"), directory.resolve("test.db"));

      Process second =
          ServerProcess.run(elsewhere, "serve", "--port", "0", "--store", "sqlite:link.db");

      assertThat(second.waitFor()).isEqualTo(Cli.UNUSABLE);
      assertThat(Files.readString(elsewhere.resolve("errors.txt")))
          .contains("link.db is open in another process", "under another name");
      assertThat(health(server)).isEqualTo(200);
      assertThat(server.call("quote", cancel(run)).path("status").asText()).isEqualTo("complete");
    }
  }

  @Test
  void aPrincipalHasAsManyUnfinishedRunsAsTheServerAllows() throws Exception {
    try (ServerProcess server = server("--unfinished-runs", "1")) {
      JsonNode first = server.call("quote", start());
      assertThat(first.path("status").asText()).isEqualTo("interrupt");

      JsonNode second = server.call("trip", start());
      assertThat(second.path("code").asText()).isEqualTo("too_many_runs");
      assertThat(second.path("error").asText())
          .isEqualTo(
              "The caller has as many unfinished runs as it may: 1. Finish or cancel one of them"
                  + " first.");

      server.call("quote", cancel(first));
      assertThat(server.call("trip", start()).path("status").asText()).isEqualTo("interrupt");
    }
  }

  private static HttpResponse<String> threads(ServerProcess server, String method, String path)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(server.at(path))
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString("{\"agent\":\"desk\"}"))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
  }

  private static ObjectNode say() {
    return Json.object().put("action", "send").put("message", "Hello");
  }

  @Test
  void aPrincipalHasAsManyThreadsAsTheServerAllowsAndDeletesThemByHttpOrMcp() throws Exception {
    String enough = "The caller has as many threads as it may: 1. Delete one of them first.";
    try (ServerProcess server = server("--threads", "1")) {
      HttpResponse<String> first = threads(server, "POST", "/threads");
      assertThat(first.statusCode()).isEqualTo(201);

      HttpResponse<String> second = threads(server, "POST", "/threads");
      assertThat(second.statusCode()).isEqualTo(409);
      JsonNode refused = Json.parse(second.body()).path("error");
      assertThat(refused.path("code").asText()).isEqualTo("too_many_threads");
      assertThat(refused.path("message").asText()).isEqualTo(enough);
      JsonNode said = server.call("desk", say());
      assertThat(said.path("code").asText()).isEqualTo("too_many_threads");
      assertThat(said.path("error").asText()).isEqualTo(enough);

      String place = first.headers().firstValue("Location").orElseThrow();
      assertThat(threads(server, "DELETE", place).statusCode()).isEqualTo(204);
      said = server.call("desk", say());
      assertThat(said.path("status").asText()).isEqualTo("rest");

      ObjectNode delete = Json.object().put("action", "delete");
      delete.set("threadId", said.path("threadId"));
      assertThat(server.call("desk", delete).path("status").asText()).isEqualTo("deleted");
      assertThat(threads(server, "POST", "/threads").statusCode()).isEqualTo(201);
    }
  }

  @Test
  void aServerMustAllowAtLeastOneUnfinishedRunAndOneThread() throws Exception {
    for (String option : List.of("--unfinished-runs", "--threads")) {
      for (String wrong : List.of("0", "-1")) {
        Process server = ServerProcess.run(directory, "serve", "--store", "memory", option, wrong);
        assertThat(server.waitFor()).isEqualTo(2);
        assertThat(Files.readString(directory.resolve("errors.txt")))
            .contains(option + " must be at least 1");
      }
    }
  }
}

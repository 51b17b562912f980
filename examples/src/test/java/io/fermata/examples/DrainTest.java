package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.examples.flows.Kitchen;
import io.fermata.flow.json.Json;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A process that gets SIGTERM while it works. */
@Timeout(120)
@Tag("long")
class DrainTest {
  @TempDir Path directory;

  private ServerProcess start(int timeoutSeconds) throws Exception {
    return ServerProcess.start(
        Kitchen.class, directory, "soup.db", "0", String.valueOf(timeoutSeconds));
  }

  private static ObjectNode cook(int seconds, String session) {
    ObjectNode arguments = Json.object().put("action", "continue").put("sessionId", session);
    arguments.putObject("stateUpdates").put("seconds", seconds);
    return arguments;
  }

  private static String begin(ServerProcess server) throws Exception {
    ObjectNode start = Json.object().put("action", "start").put("intent", "is hungry");
    return server.call("soup", start).path("sessionId").asText();
  }

  private static CompletableFuture<JsonNode> later(ServerProcess server, ObjectNode arguments) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return server.call("soup", arguments);
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private void awaitCooking() throws Exception {
    while (!Files.readString(directory.resolve("errors.txt")).contains("cooking")) {
      Thread.sleep(20);
    }
  }

  private static HttpResponse<String> ready(ServerProcess server) throws Exception {
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(server.at("/health/ready")).build(), BodyHandlers.ofString());
  }

  private static HttpResponse<String> newCall(URI endpoint) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(endpoint)
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream")
                .POST(
                    BodyPublishers.ofString(
                        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}"))
                .build(),
            BodyHandlers.ofString());
  }

  @Test
  void answersTheCallInFlightRefusesNewOnesAndEnds() throws Exception {
    try (ServerProcess server = start(20)) {
      assertThat(ready(server).statusCode()).isEqualTo(200);
      String session = begin(server);
      CompletableFuture<JsonNode> soup = later(server, cook(3, session));
      awaitCooking();

      server.askToEnd();

      HttpResponse<String> ready = ready(server);
      while (ready.statusCode() == 200) {
        ready = ready(server);
      }
      assertThat(ready.statusCode()).isEqualTo(503);
      HttpResponse<String> refused = newCall(server.at("/mcp"));
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.headers().firstValue("Retry-After")).isPresent();
      assertThat(refused.body()).contains("\"id\":9", "\"code\":\"shutting_down\"");
      JsonNode served = soup.get(60, TimeUnit.SECONDS);
      assertThat(served.path("status").asText()).isEqualTo("complete");
      assertThat(served.path("result").asText()).isEqualTo("at attempt 1");
      assertThat(server.ended()).isIn(0, 143);
    }
  }

  @Test
  void handsBackACallThatTakesLongerAndItsRunContinuesAfterTheNextStart() throws Exception {
    String session;
    try (ServerProcess server = start(1)) {
      session = begin(server);
      CompletableFuture<JsonNode> soup = later(server, cook(8, session));
      awaitCooking();

      server.askToEnd();

      JsonNode handedBack = soup.get(60, TimeUnit.SECONDS);
      assertThat(handedBack.path("code").asText()).isEqualTo("still_working");
      assertThat(handedBack.path("error").asText()).contains("continue");
      assertThat(server.ended()).isIn(0, 143);
    }
    try (ServerProcess server = start(1)) {
      ObjectNode again = Json.object().put("action", "continue").put("sessionId", session);
      JsonNode served = server.call("soup", again);

      assertThat(served.path("status").asText()).isEqualTo("complete");
      assertThat(served.path("result").asText()).isEqualTo("at attempt 2");
    }
  }
}

package io.fermata.mcp;

import static io.fermata.mcp.TaskClient.accepted;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A task id is valid in every process that has the store. */
@Timeout(180)
@Tag("slow")
@Tag("faults")
class TaskSurvivalTest {
  @TempDir Path directory;

  /** A server in a separate process. */
  private final class Server implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;

    Server(String... more) throws IOException {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.addAll(
          List.of("-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
      command.addAll(List.of(TaskServer.class.getName(), directory.toString()));
      command.addAll(List.of(more));
      process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      out = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    }

    TaskClient client() throws IOException {
      String port = Objects.requireNonNull(out.readLine(), "the server did not start");
      return new TaskClient(URI.create("http://localhost:" + port + "/mcp"));
    }

    /** Sends a request over the standard streams and returns the result. */
    JsonNode ask(String method, String params) throws IOException {
      String message =
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s,%s}}\n"
              .formatted(
                  method,
                  params,
                  Wired.META.replace(
                      "Capabilities\":{}",
                      "Capabilities\":{\"elicitation\":{}," + TaskClient.TASKS + "}"));
      OutputStream in = process.getOutputStream();
      in.write(message.getBytes(UTF_8));
      in.flush();
      return Wired.JSON.readTree(out.readLine()).path("result");
    }

    /** As {@code kill -9}: the process has ended when this returns. */
    void kill() {
      process.destroyForcibly().onExit().join();
    }

    @Override
    public void close() {
      kill();
    }
  }

  @Test
  void aTaskIsFinishedByItsNameAfterItsServerWasKilledAtWorkAndWaiting() throws Exception {
    String id;
    try (Server server = new Server()) {
      JsonNode task = server.client().start("cook").result();
      assertThat(task.path("resultType").asText()).isEqualTo("task");
      id = task.path("taskId").asText();
    }
    String key;
    try (Server server = new Server()) {
      TaskClient client = server.client();
      assertThat(client.get(id).path("status").asText()).isEqualTo("working");
      new TaskServer(directory).release();
      JsonNode asks = client.when(id, "input_required");
      key = TaskClient.key(asks, "dish");
      String sauce = TaskClient.key(asks, "sauce");
      client.update(id, accepted(Json.object(), sauce, "sauce", "none"));
    }
    try (Server server = new Server()) {
      TaskClient client = server.client();
      JsonNode asks = client.get(id);
      assertThat(asks.path("status").asText()).isEqualTo("input_required");
      assertThat(TaskClient.key(asks, "dish")).isEqualTo(key);
      client.update(id, accepted(Json.object(), key, "dish", "soup"));
      client.when(id, "completed");
    }
    try (Server server = new Server()) {
      JsonNode done = server.client().get(id);
      assertThat(done.at("/result/structuredContent/result").asText()).isEqualTo("soup with none");
    }
  }

  @Test
  @Tag("long")
  void soItIsOverStandardStreams() throws Exception {
    String id;
    try (Server server = new Server("stdio")) {
      JsonNode task =
          server.ask(
              "tools/call",
              "\"name\":\"cook\",\"arguments\":{\"action\":\"start\",\"intent\":\"to eat\"}");
      id = task.path("taskId").asText();
      assertThat(id).isNotEmpty();
    }
    new TaskServer(directory).release();
    try (Server server = new Server("stdio")) {
      String get = "\"taskId\":\"" + id + "\"";
      JsonNode asks = server.ask("tasks/get", get);
      while (!asks.path("status").asText().equals("input_required")) {
        assertThat(asks.path("status").asText()).isEqualTo("working");
        Thread.sleep(50);
        asks = server.ask("tasks/get", get);
      }
      var answers = accepted(Json.object(), TaskClient.key(asks, "dish"), "dish", "soup");
      accepted(answers, TaskClient.key(asks, "sauce"), "sauce", "none");
      server.ask("tasks/update", get + ",\"inputResponses\":" + answers);
      JsonNode done = server.ask("tasks/get", get);
      while (!done.path("status").asText().equals("completed")) {
        Thread.sleep(50);
        done = server.ask("tasks/get", get);
      }
      assertThat(done.at("/result/structuredContent/result").asText()).isEqualTo("soup with none");
    }
  }
}

package io.fermata.examples;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The server as its users run it: a process, a file, a socket. */
@Tag("slow")
class ServerTest {
  private static final String[] SERVE = {"serve", "--port", "0", "--store", "sqlite:test.db"};

  @TempDir Path directory;

  @Test
  void finishesAQuoteThatWasBegunBeforeTheProcessWasKilled() throws Exception {
    String handle;
    try (ServerProcess server = ServerProcess.start(directory, SERVE)) {
      JsonNode begun = server.call("quote", call("start").put("intent", "wants a price"));
      handle = begun.path("sessionId").asText();
      ObjectNode contact = call("continue").put("sessionId", handle);
      contact.putObject("stateUpdates").put("name", "Ann").put("email", "ann@acme.com");
      assertThat(server.call("quote", contact).path("field").asText()).isEqualTo("companySize");
      server.kill();
    }
    try (ServerProcess server = ServerProcess.start(directory, SERVE)) {
      JsonNode open = server.call("quote", call("continue").put("sessionId", handle));
      assertThat(open.path("field").asText()).isEqualTo("companySize");

      ObjectNode rest = call("continue").put("sessionId", handle);
      rest.putObject("stateUpdates").put("companySize", "11-50");
      assertThat(server.call("quote", rest).path("tool").asText()).isEqualTo("show_plans");

      ObjectNode plan = call("continue").put("sessionId", handle);
      plan.putObject("stateUpdates").put("selectedPlan", "gold");
      JsonNode done = server.call("quote", plan);
      assertThat(done.path("status").asText()).isEqualTo("complete");
      assertThat(done.path("result").path("price").asInt()).isEqualTo(10);
      assertThat(server.endsWhenAsked()).isTrue();
    }
  }

  @Test
  void offersFlowsAndThePagesOfTheirWidgets() throws Exception {
    try (ServerProcess server = ServerProcess.start(directory, SERVE)) {
      JsonNode tools = server.result("tools/list", Json.object()).path("tools");
      List<String> names = new ArrayList<>();
      tools.forEach(tool -> names.add(tool.path("name").asText()));
      assertThat(names)
          .containsExactly(
              "quote", "table", "trip", "desk", "billing", "show_plans", "choose_table");
      for (String page : new String[] {"show_plans", "choose_table"}) {
        ObjectNode uri = Json.object().put("uri", "ui://fermata/" + page + ".html");
        JsonNode content = server.result("resources/read", uri).path("contents").path(0);
        assertThat(content.path("mimeType").asText()).isEqualTo("text/html;profile=mcp-app");
        assertThat(content.path("text").asText())
            .contains("ui/initialize", "prefers-reduced-motion")
            .doesNotContain("http://", "https://", "src=");
      }
    }
  }

  @Test
  void showsItsHealthAndItsMetrics() throws Exception {
    String[] serve = {"serve", "--port", "0", "--store", "sqlite:test.db", "--metrics"};
    try (ServerProcess server = ServerProcess.start(directory, serve)) {
      server.call("quote", call("start").put("intent", "wants a price"));

      assertThat(get(server, "/health/live")).isEqualTo("{\"live\":true}");
      assertThat(get(server, "/health/ready")).contains("\"ready\":true");
      assertThat(get(server, "/metrics"))
          .contains(
              "fermata_runs_total{change=\"begun\",code=\"none\",flow=\"quote\"} 1.0",
              "fermata_calls_seconds_count{code=\"none\",kind=\"flow\",status=\"interrupt\",tool=\"quote\"}"
                  + " 1",
              "fermata_sessions_awake 1.0",
              "jvm_memory_used_bytes");
    }
  }

  @Test
  void connectionsAreLimitedAsItsOperatorSays() throws Exception {
    String[] serve = {
      "serve",
      "--port",
      "0",
      "--store",
      "sqlite:test.db",
      "--max-connections",
      "10",
      "--max-connections-per-address",
      "2"
    };
    try (ServerProcess server = ServerProcess.start(directory, serve);
        Socket first = connected(server)) {
      // Event loops accept side by side: once it is answered, it has come before the others.
      String live = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
      first.getOutputStream().write(live.getBytes(US_ASCII));
      assertThat(first.getInputStream().read()).isEqualTo('H');
      try (Socket second = connected(server);
          Socket third = connected(server)) {
        first.setSoTimeout(60_000);
        assertThat(first.getInputStream().readAllBytes()).as("closed for the third").isNotEmpty();
        assertThat(second.isConnected() && third.isConnected()).isTrue();
      }
    }
  }

  private static Socket connected(ServerProcess server) throws IOException {
    return new Socket(InetAddress.getLoopbackAddress(), server.endpoint().getPort());
  }

  @Test
  void keysComeFromTheEnvironmentAndAreNotPrinted() throws Exception {
    Map<String, String> environment = Map.of("FERMATA_API_KEYS", "ann=s3cret,bob=other");
    Process process = ServerProcess.run(directory, environment, SERVE);
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      String first = String.valueOf(out.readLine());
      String command = String.valueOf(out.readLine());
      assertThat(command).endsWith(" --header \"Authorization: Bearer <ann's key>\"");
      String mcp = first.substring(first.indexOf("http://"));
      URI runs = URI.create(mcp).resolve("/runs");
      assertThat(statusOf(HttpRequest.newBuilder(runs))).isEqualTo(401);
      assertThat(statusOf(HttpRequest.newBuilder(runs).header("Authorization", "Bearer s3cret")))
          .isEqualTo(200);
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void anOperatorIsNamedOnTheCommandLine() throws Exception {
    Map<String, String> environment = Map.of("FERMATA_API_KEYS", "ann=a-key,ops=o-key");
    List<String> serve = new ArrayList<>(List.of(SERVE));
    serve.addAll(List.of("--operator", "ops"));
    Process process = ServerProcess.run(directory, environment, serve.toArray(String[]::new));
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      String first = String.valueOf(out.readLine());
      URI forks =
          URI.create(first.substring(first.indexOf("http://"))).resolve("/runs/quote/a.b/forks");
      for (String key : new String[] {"a-key", "o-key"}) {
        HttpRequest.Builder request =
            HttpRequest.newBuilder(forks)
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"entry\":1,\"mode\":\"sandbox\"}"));
        assertThat(statusOf(request)).as(key).isEqualTo(key.equals("o-key") ? 404 : 403);
      }
    } finally {
      process.destroyForcibly();
    }
  }

  private static int statusOf(HttpRequest.Builder request) throws Exception {
    return HttpClient.newHttpClient().send(request.build(), BodyHandlers.discarding()).statusCode();
  }

  @Test
  @Tag("long")
  void anImportedRunContinuesUnderTheHandleOfItsOldStore() throws Exception {
    JsonNode begun;
    String run;
    try (ServerProcess server = ServerProcess.start(directory, SERVE)) {
      ObjectNode params = Json.object().put("name", "quote");
      params.set("arguments", call("start").put("intent", "wants a price"));
      begun = server.result("tools/call", params);
      run = "quote/" + begun.at("/_meta/fermata~1run/runId").asText();
      assertThat(server.endsWhenAsked()).isTrue();
    }
    String old = "sqlite:" + directory.resolve("test.db");
    String other = "sqlite:" + directory.resolve("other.db");
    String file = directory.resolve("run.jsonl").toString();
    assertThat(Main.cli().commandLine().execute("export", file, "--run", run, "--store", old))
        .isZero();
    assertThat(Main.cli().commandLine().execute("import", file, "--store", other)).isZero();

    String[] serve = {"serve", "--port", "0", "--store", other, "--accept-handles-of", old};
    try (ServerProcess server = ServerProcess.start(directory, serve)) {
      JsonNode handle = begun.at("/structuredContent/sessionId");
      ObjectNode contact = call("continue").put("sessionId", handle.asText());
      contact.putObject("stateUpdates").put("name", "Ann").put("email", "ann@acme.com");
      assertThat(server.call("quote", contact).path("field").asText()).isEqualTo("companySize");
    }
  }

  private static String get(ServerProcess server, String path) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(server.at(path)).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
  }

  private static ObjectNode call(String action) {
    return Json.object().put("action", action);
  }
}

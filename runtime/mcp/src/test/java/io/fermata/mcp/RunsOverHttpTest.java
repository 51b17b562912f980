package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.call.ToolCall;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** The list of runs over HTTP, for a caller with a key. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RunsOverHttpTest {
  record Order(String item) {}

  private static final Flow<Order> ORDER =
      Flow.of("order", Order.class)
          .description("Takes an order.")
          .act("mark", run -> run.tag("vip"))
          .ask("ask_item", q -> q.question("item", "What?"))
          .edge(Flow.START, "mark")
          .edge("mark", "ask_item")
          .edge("ask_item", Flow.END)
          .compile();

  private final HttpClient client = HttpClient.newHttpClient();
  private Fermata host;
  private McpServer server;
  private String alices = "";

  @Test
  void aPathThatIsNotServedGetsAnErrorOfHttpAndNotOfJsonRpc() throws Exception {
    for (String path : new String[] {"/nowhere", "/mcp/more", "/runs/order/x/y"}) {
      HttpResponse<String> response = get("a-key", path);
      assertThat(response.statusCode()).as(path).isEqualTo(404);
      JsonNode body = Json.parse(response.body());
      assertThat(body.has("jsonrpc")).as(path).isFalse();
      assertThat(body.at("/error/code").asText()).as(path).isEqualTo("not_found");
      assertThat(body.at("/error/message").asText()).contains("Nothing is served at this path");
    }
  }

  @BeforeAll
  void start() throws Exception {
    host = Fermata.host().store(Store.memory()).flow(ORDER).start();
    server =
        McpServer.serving(host)
            .runs(host.runs())
            .port(0)
            .apiKey("alice", "a-key")
            .apiKey("bob", "b-key")
            .apiKey("ops", "o-key")
            .operators("ops")
            .start();
    alices = begin("alice");
    begin("bob");
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while ((runs("a-key", "").size() == 0 || runs("b-key", "").size() == 0)
        && System.nanoTime() < end) {
      Thread.sleep(20);
    }
  }

  @AfterAll
  void stop() {
    server.close();
    host.close();
  }

  @Test
  void anOperatorForksARunOfAnybodyAndNobodyElseDoes() throws Exception {
    String forks = "/runs/order/" + alices + "/forks";
    String body = "{\"entry\":%d,\"mode\":\"sandbox\",\"answers\":{\"item\":\"tea\"}}";
    long last = 2;

    HttpResponse<String> forked = post("o-key", forks, body.formatted(last));

    assertThat(forked.statusCode()).as(forked.body()).isEqualTo(201);
    JsonNode fork = Json.parse(forked.body());
    assertThat(fork.path("principal").asText()).isEqualTo("alice");
    assertThat(fork.at("/reply/status").asText()).isEqualTo("complete");
    assertThat(forked.headers().firstValue("location"))
        .contains("/runs/order/" + fork.path("runId").asText());
    assertThat(runs("a-key", "").findValuesAsText("runId"))
        .doesNotContain(fork.path("runId").asText());
    for (String key : new String[] {"a-key", "b-key"}) {
      HttpResponse<String> refused = post(key, forks, body.formatted(last));
      assertThat(refused.statusCode()).as(refused.body()).isEqualTo(403);
      assertThat(Json.parse(refused.body()).at("/error/code").asText())
          .isEqualTo("may_not_operate");
    }
    assertRefused(post("o-key", forks, body.formatted(99)), 404, "unknown_entry");
    assertRefused(
        post("o-key", forks.replace(alices, alices + "x"), body.formatted(1)), 404, "unknown_run");
    assertRefused(post("o-key", forks, "{\"entry\":1}"), 400, "invalid_fields");
    String onVersion = "{\"entry\":2,\"mode\":\"sandbox\",\"version\":%s}";
    assertThat(post("o-key", forks, onVersion.formatted("1")).statusCode()).isEqualTo(201);
    assertRefused(post("o-key", forks, onVersion.formatted("7")), 409, "version_changed");
    assertRefused(post("o-key", forks, onVersion.formatted("1.5")), 400, "invalid_fields");
    assertRefused(
        post("o-key", forks, onVersion.formatted("1,\"newestVersion\":true")),
        400,
        "invalid_fields");
    assertRefused(get("o-key", forks), 405, "method_not_allowed");
  }

  private static void assertRefused(HttpResponse<String> response, int status, String code) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    assertThat(Json.parse(response.body()).at("/error/code").asText()).isEqualTo(code);
  }

  private HttpResponse<String> post(String key, String path, String body)
      throws IOException, InterruptedException {
    return client.send(
        HttpRequest.newBuilder(server.endpoint().resolve(path))
            .header("authorization", "Bearer " + key)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private String begin(String principal) throws Exception {
    var start = Json.object().put("action", "start").put("intent", "to test");
    ToolCall call = new ToolCall("order", principal, start, Json.object(), null);
    return host.call(call)
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS)
        .meta()
        .path("fermata/run")
        .path("runId")
        .textValue();
  }

  private HttpResponse<String> get(String key, String path)
      throws IOException, InterruptedException {
    return get(server, key, path);
  }

  private HttpResponse<String> get(McpServer server, String key, String path)
      throws IOException, InterruptedException {
    URI uri = server.endpoint().resolve(path);
    return client.send(
        HttpRequest.newBuilder(uri).header("authorization", "Bearer " + key).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private JsonNode runs(String key, String query) throws IOException, InterruptedException {
    HttpResponse<String> said = get(key, "/runs" + query);
    assertThat(said.statusCode()).as(said.body()).isEqualTo(200);
    return Json.parse(said.body()).path("runs");
  }

  @Test
  void aPrincipalSeesItsOwnRunsAndNoOthers() throws Exception {
    JsonNode hers = runs("a-key", "");
    assertThat(hers).hasSize(1);
    assertThat(hers.at("/0/runId").asText()).isEqualTo(alices);
    assertThat(hers.at("/0/principal").asText()).isEqualTo("alice");
    assertThat(runs("b-key", "")).hasSize(1);
    assertThat(runs("b-key", "").at("/0/runId").asText()).isNotEqualTo(alices);
    assertThat(get("a-key", "/runs/order/" + alices).statusCode()).isEqualTo(200);
    assertThat(get("b-key", "/runs/order/" + alices).statusCode()).isEqualTo(404);
    assertThat(get("b-key", "/runs?principal=alice").statusCode()).isEqualTo(403);
    assertThat(get("no-key", "/runs").statusCode()).isEqualTo(401);
  }

  @Test
  void runsAreFilteredByTheirParameters() throws Exception {
    assertThat(runs("a-key", "?flow=order&status=waiting&status=working&tag=vip&version=1"))
        .hasSize(1);
    assertThat(runs("a-key", "?status=failed")).isEmpty();
    assertThat(runs("a-key", "?longerThan=PT1H&sort=longest")).isEmpty();
    assertThat(runs("a-key", "?startedFrom=2020-01-01T00:00:00Z&q=ORDER")).hasSize(1);
    JsonNode run = runs("a-key", "").path(0);
    assertThat(run.at("/waitsFor/0").toString())
        .isEqualTo("{\"step\":\"ask_item\",\"kind\":\"answer\",\"what\":\"item\"}");
    assertThat(run.path("tags").toString()).isEqualTo("[\"vip\"]");
  }

  @Test
  void whatMakesNoSenseIsSaid() throws Exception {
    assertThat(get("a-key", "/runs?status=asleep").body()).contains("must be one of", "stopped");
    assertThat(get("a-key", "/runs?longerThan=soon").body()).contains("PT5M");
    assertThat(get("a-key", "/runs?startedFrom=soon").body()).contains("2026-");
    assertThat(get("a-key", "/runs?longerThan=P110000000000D").body()).contains("PT5M");
    assertThat(get("a-key", "/runs?startedFrom=%2B300000000-01-01T00:00:00Z").body())
        .contains("2026-");
    assertThat(get("a-key", "/runs?cursor=x").statusCode()).isEqualTo(400);
    assertThat(get("a-key", "/runs/order").statusCode()).isEqualTo(404);
  }

  @Test
  void ofManyWrongFieldsTheFirstAreSaidAndHowManyMoreThereAre() throws Exception {
    ObjectNode body = Json.object().put("entry", 1).put("mode", "sandbox");
    IntStream.range(0, 1_000).forEach(n -> body.put("no" + n, n));

    HttpResponse<String> said = post("o-key", "/runs/order/" + alices + "/forks", body.toString());

    assertThat(said.statusCode()).isEqualTo(400);
    JsonNode fields = Json.parse(said.body()).at("/error/fields");
    assertThat(fields).hasSize(101);
    assertThat(fields.path(100).path("message").asText()).isEqualTo("has 900 more invalid fields");
  }

  @Test
  void aListThatTheStoreCannotGiveIsSaidNotToBeKept() throws Exception {
    AlteredStore.Answers unlisted =
        request ->
            request.is("list")
                ? CompletableFuture.failedFuture(NoHistoryException.unlisted("redis"))
                : request.ask();
    try (Fermata host =
            Fermata.host().store(AlteredStore.of(Store.memory(), unlisted)).flow(ORDER).start();
        McpServer serving =
            McpServer.serving(host).runs(host.runs()).port(0).apiKey("alice", "a-key").start()) {
      HttpResponse<String> said = get(serving, "a-key", "/runs");
      assertThat(said.statusCode()).isEqualTo(410);
      assertThat(said.body()).contains("not_kept", "cannot be listed");
    }
  }
}

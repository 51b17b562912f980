package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.json.Json;
import io.fermata.mcp.Events;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.Health;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The endpoints for operators of a server. */
@Timeout(30)
@Tag("slow")
class OperationsEndpointsTest {
  private final FakeHost host = new FakeHost();
  private McpServer server =
      McpServer.serving(host)
          .port(0)
          .apiKey("ann", "secret")
          .metrics(() -> "fermata_calls_total 3\n")
          .start();

  @AfterEach
  void stop() {
    server.close();
  }

  private Wired.Said get(String path) {
    return new Wired(server).method("GET").sendTo(path);
  }

  @Test
  void aServerIsLiveEvenIfItsHostIsNotReady() {
    host.health = new Health("the disk of the store is full", false, null);

    Wired.Said live = get("/health/live");

    assertThat(live.status()).isEqualTo(200);
    assertThat(live.body().path("live").asBoolean()).isTrue();
  }

  @Test
  void aServerWhoseHostIsLostIsNotLive() {
    host.lost.complete("another host took over the store");

    Wired.Said live = get("/health/live");

    assertThat(live.status()).isEqualTo(503);
    assertThat(live.body().path("live").asBoolean(true)).isFalse();
    assertThat(live.body().path("reason").asText()).isEqualTo("another host took over the store");
  }

  @Test
  void itIsReadyWhileItsStoreCanBeWrittenAndItsHostTakesCalls() {
    Wired.Said ready = get("/health/ready");
    assertThat(ready.status()).isEqualTo(200);
    assertThat(ready.body().path("ready").asBoolean()).isTrue();
    assertThat(ready.body().path("store").asText()).isEqualTo("accepts writes");
    assertThat(ready.raw().headers().firstValue("Cache-Control")).contains("no-store");

    host.health = new Health("the disk of the store is full", true, null);
    Wired.Said storeless = get("/health/ready");
    assertThat(storeless.status()).isEqualTo(503);
    assertThat(storeless.body().path("store").asText()).isEqualTo("the disk of the store is full");
    assertThat(storeless.body().path("calls").asText()).isEqualTo("accepted");

    host.health = new Health(null, false, null);
    assertThat(get("/health/ready").status()).isEqualTo(503);
  }

  @Test
  void itIsNotReadyWhileItsHostSaysNothing() {
    host.silent = true;

    assertThat(get("/health/ready").status()).isEqualTo(503);
    assertThat(get("/health/live").status()).isEqualTo(200);
  }

  private static ClusterHealth cluster(@Nullable String problem) {
    return new ClusterHealth(
        "c1",
        "10.0.0.5:7400",
        List.of(
            new ClusterHealth.Member("10.0.0.5:7400", ClusterHealth.Status.UP),
            new ClusterHealth.Member("10.0.0.6:7400", ClusterHealth.Status.UNREACHABLE)),
        43,
        Duration.ofMillis(700),
        problem);
  }

  private Wired.Said getWithKey(String path) {
    return new Wired(server).method("GET").with("Authorization", "Bearer secret").sendTo(path);
  }

  @Test
  void aHostIsReadyAlthoughOthersOfItsClusterCannotBeReached() {
    host.health = new Health(null, true, cluster(null));

    Wired.Said ready = get("/health/ready");

    assertThat(ready.status()).isEqualTo(200);
    assertThat(ready.body().path("cluster").asText()).isEqualTo("1 member is up, 1 unreachable");
    assertThat(ready.body().toString()).as("addresses are for operators").doesNotContain("10.0.0");
  }

  @Test
  void aHostIsNotReadyWhileItIsNoMemberOfItsCluster() {
    host.health = new Health(null, true, cluster("it has not joined"));

    Wired.Said ready = get("/health/ready");

    assertThat(ready.status()).isEqualTo(503);
    assertThat(ready.body().path("ready").asBoolean(true)).isFalse();
    assertThat(ready.body().path("store").asText()).isEqualTo("accepts writes");
    assertThat(ready.body().path("cluster").asText()).isEqualTo("it has not joined");
  }

  @Test
  void operatorsSeeTheMembersOfTheCluster() {
    host.health = new Health(null, true, cluster(null));

    assertThat(get("/health").status()).isEqualTo(401);
    Wired.Said health = getWithKey("/health");

    assertThat(health.status()).isEqualTo(200);
    assertThat(health.body())
        .isEqualTo(
            Json.parse(
                """
                {"ready": true, "store": "accepts writes", "calls": "accepted",
                 "cluster": {"id": "c1", "host": "10.0.0.5:7400", "shards": 43,
                   "renewedMillis": 700,
                   "members": [{"host": "10.0.0.5:7400", "status": "up"},
                     {"host": "10.0.0.6:7400", "status": "unreachable"}]}}
                """));

    host.health = new Health(null, true, cluster("it has not joined"));
    Wired.Said apart = getWithKey("/health");
    assertThat(apart.status()).isEqualTo(503);
    assertThat(apart.body().at("/cluster/problem").asText()).isEqualTo("it has not joined");
  }

  @Test
  void theHealthOfASingleHostSaysNothingOfACluster() {
    assertThat(get("/health/ready").body().has("cluster")).isFalse();
    assertThat(getWithKey("/health").body().has("cluster")).isFalse();
  }

  @Test
  void healthIsPublicUnderTheServersName() {
    assertThat(new Wired(server).method("POST").sendTo("/health/ready").status()).isEqualTo(405);
    Wired.Said lured =
        new Wired(server)
            .method("GET")
            .with("Origin", "https://evil.example.com")
            .sendTo("/health/live");
    assertThat(lured.status()).isEqualTo(403);
  }

  @Test
  void metricsAreShownToThoseWhoMayCall() throws Exception {
    assertThat(get("/metrics").status()).isEqualTo(401);

    HttpResponse<String> shown = metrics();

    assertThat(shown.statusCode()).isEqualTo(200);
    assertThat(shown.headers().firstValue("Content-Type").orElseThrow())
        .startsWith("text/plain; version=0.0.4");
    assertThat(shown.body()).isEqualTo("fermata_calls_total 3\n");
  }

  private HttpResponse<String> metrics() throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(server.endpoint().resolve("/metrics"))
                .header("Authorization", "Bearer secret")
                .build(),
            BodyHandlers.ofString());
  }

  @Test
  void metricsAreServedWhileHandlersHoldAllThreads() throws Exception {
    CompletableFuture<Void> begun = new CompletableFuture<>();
    CompletableFuture<Void> released = new CompletableFuture<>();
    McpTool stuck =
        McpTool.of("stuck", "Waits")
            .call(
                call -> {
                  begun.complete(null);
                  released.join();
                  return McpResult.text("released");
                });
    server.close();
    server =
        McpServer.serving(host)
            .port(0)
            .handlerThreads(1)
            .tool(stuck)
            .metrics(() -> "fermata_calls_total 3\n")
            .start();
    CompletableFuture<Events> answer =
        new Wired(server)
            .listen(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"stuck\"}}");
    begun.join();

    HttpResponse<String> shown = metrics();

    assertThat(shown.statusCode()).isEqualTo(200);
    released.complete(null);
    assertThat(answer.join()).isNotNull();
  }

  @Test
  void metricsThatNobodyGatheredAreNotThere() {
    server.close();
    server = McpServer.serving(host).port(0).start();

    assertThat(get("/metrics").status()).isEqualTo(404);
  }
}

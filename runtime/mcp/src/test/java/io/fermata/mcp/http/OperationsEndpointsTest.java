package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.session.call.Health;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
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
    host.health = new Health("the disk of the store is full", false);

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

    host.health = new Health("the disk of the store is full", true);
    Wired.Said storeless = get("/health/ready");
    assertThat(storeless.status()).isEqualTo(503);
    assertThat(storeless.body().path("store").asText()).isEqualTo("the disk of the store is full");
    assertThat(storeless.body().path("calls").asText()).isEqualTo("accepted");

    host.health = new Health(null, false);
    assertThat(get("/health/ready").status()).isEqualTo(503);
  }

  @Test
  void itIsNotReadyWhileItsHostSaysNothing() {
    host.silent = true;

    assertThat(get("/health/ready").status()).isEqualTo(503);
    assertThat(get("/health/live").status()).isEqualTo(200);
  }

  @Test
  void healthIsPublicUnderTheServersName() {
    assertThat(new Wired(server).method("POST").sendTo("/health/ready").status()).isEqualTo(405);
    assertThat(get("/health").status()).isEqualTo(404);
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

    HttpResponse<String> shown =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(server.endpoint().resolve("/metrics"))
                    .header("Authorization", "Bearer secret")
                    .build(),
                BodyHandlers.ofString());

    assertThat(shown.statusCode()).isEqualTo(200);
    assertThat(shown.headers().firstValue("Content-Type").orElseThrow())
        .startsWith("text/plain; version=0.0.4");
    assertThat(shown.body()).isEqualTo("fermata_calls_total 3\n");
  }

  @Test
  void metricsThatNobodyGatheredAreNotThere() {
    server.close();
    server = McpServer.serving(host).port(0).start();

    assertThat(get("/metrics").status()).isEqualTo(404);
  }
}

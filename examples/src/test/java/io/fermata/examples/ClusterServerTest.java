package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.postgres.PostgresServer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What operators see of servers that share a PostgreSQL store, each in a process of its own. */
@Tag("long")
@Timeout(300)
class ClusterServerTest {
  private final String database = PostgresServer.shared().newDatabase();

  @TempDir Path first;
  @TempDir Path second;
  @TempDir Path third;

  private ServerProcess start(Path directory) throws Exception {
    return ServerProcess.start(
        directory, "serve", "--port", "0", "--cluster", "--metrics", "--store", database);
  }

  private Process startAt(String address) throws Exception {
    return ServerProcess.run(
        third,
        "serve",
        "--port",
        "0",
        "--cluster",
        "--cluster-address",
        address,
        "--store",
        database);
  }

  private static String get(ServerProcess server, String path) throws Exception {
    URI uri = server.at(path);
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
        .body();
  }

  private static JsonNode health(ServerProcess server) throws Exception {
    return Json.parse(get(server, "/health"));
  }

  @Test
  void healthAndMetricsShowTheClusterOverHttp() throws Exception {
    try (ServerProcess one = start(first);
        ServerProcess other = start(second)) {
      JsonNode seen = health(one).path("cluster");
      JsonNode there = health(other).path("cluster");
      assertThat(seen.path("id").asText()).isNotBlank().isEqualTo(there.path("id").asText());
      assertThat(seen.path("members").findValuesAsText("host"))
          .containsExactlyInAnyOrder(seen.path("host").asText(), there.path("host").asText());
      assertThat(get(one, "/health/ready")).contains("\"cluster\":\"2 members are up\"");
      assertThat(get(one, "/metrics"))
          .contains(
              "fermata_cluster_members{status=\"up\"} 2.0",
              "fermata_cluster_heartbeat_seconds ",
              "fermata_cluster_refusals_total 0.0",
              "fermata_upkeep_lag_seconds{work=\"timers\"} ");

      other.kill();
      while (health(one).at("/cluster/members").size() > 1) {
        assertThat(get(one, "/health/ready")).as("peers do not matter").contains("\"ready\":true");
        Thread.sleep(100);
      }
    }
  }

  @Test
  void aServerThatCannotJoinSaysWhy() throws Exception {
    try (ServerProcess one = start(first)) {
      assertThat(health(one).path("ready").asBoolean()).isTrue();
      Process refused = startAt("10.0.0.1");
      assertThat(refused.waitFor()).isEqualTo(3);
      assertThat(Files.readString(third.resolve("errors.txt")))
          .contains("would talk unencrypted at 10.0.0.1")
          .doesNotContain("\tat ");
    }
  }

  @Test
  void aServerWhoseClusterPortIsTakenSaysSoInOneLine() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String address = "127.0.0.1:" + taken.getLocalPort();
      Process refused = startAt(address);
      assertThat(refused.waitFor()).isEqualTo(4);
      assertThat(Files.readAllLines(third.resolve("errors.txt")))
          .singleElement()
          .asString()
          .contains("cannot listen at " + address, "already in use", "--cluster-address");
    }
  }
}

package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.spi.Shard;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.Fermata;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow.Subscriber;
import java.util.concurrent.Flow.Subscription;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What MCP clients see of servers that share a PostgreSQL store, whichever of them they reach. */
@Tag("long")
@Timeout(300)
class ClusterClientsTest {
  private final String database = PostgresServer.shared().newDatabase();

  /** Calls the dinner flow as a client of the newest revision that shows forms. */
  private static JsonNode dinner(McpServer server, ObjectNode params) throws Exception {
    ObjectNode message = Json.object().put("jsonrpc", "2.0").put("id", 1);
    message.put("method", "tools/call").set("params", params.deepCopy());
    ObjectNode called = ((ObjectNode) message.path("params")).put("name", "dinner");
    called.putObject("arguments").put("action", "start").put("intent", "a table");
    ObjectNode meta = called.putObject("_meta");
    meta.put("io.modelcontextprotocol/protocolVersion", "2026-07-28");
    meta.putObject("io.modelcontextprotocol/clientInfo").put("name", "test").put("version", "1");
    meta.putObject("io.modelcontextprotocol/clientCapabilities")
        .putObject("elicitation")
        .putObject("form");
    HttpRequest request =
        HttpRequest.newBuilder(server.endpoint())
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "dinner")
            .POST(BodyPublishers.ofString(Json.text(message)))
            .build();
    return Json.parse(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body())
        .path("result");
  }

  /** While sessions move, a server may not learn in time what they ask, and shows no form. */
  private static void awaitShared(Fermata... hosts) throws InterruptedException {
    for (Fermata host : hosts) {
      while (shards(host) != Shard.COUNT / hosts.length) {
        Thread.sleep(100);
      }
    }
  }

  private static int shards(Fermata host) {
    return host.cluster().orElseThrow().shards();
  }

  @Test
  void aFormIsUsedOnceWhicheverServersItIsSentTo() throws Exception {
    try (Fermata here = Dinner.clusterHost(database);
        Fermata there = Dinner.clusterHost(database);
        McpServer one = McpServer.serving(here).port(0).start();
        McpServer other = McpServer.serving(there).port(0).start()) {
      awaitShared(here, there);
      JsonNode asked = dinner(one, Json.object());
      assertThat(asked.path("inputRequests")).as(asked.toString()).hasSize(1);
      ObjectNode retry = Json.object();
      retry.set("requestState", asked.path("requestState"));
      ObjectNode form =
          retry
              .putObject("inputResponses")
              .putObject(asked.path("inputRequests").fieldNames().next());
      form.put("action", "accept");
      form.putObject("content").put("name", "Ada").put("email", "ada@acme.com");

      JsonNode next = dinner(other, retry);
      assertThat(next.path("inputRequests").toString()).contains("How many are you?");

      JsonNode again = dinner(one, retry);
      assertThat(again.at("/structuredContent/code").asText())
          .as(again.toString())
          .isEqualTo("stale_call");
      assertThat(again.at("/structuredContent/question").asText()).isEqualTo("How many are you?");
    }
  }

  private static HttpRequest.Builder older(McpServer server, String session) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.endpoint())
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2025-11-25");
    return session.isEmpty() ? request : request.header("Mcp-Session-Id", session);
  }

  /** The lines of an event stream. */
  private static final class Lines implements Subscriber<String>, AutoCloseable {
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final AtomicReference<Subscription> subscribed = new AtomicReference<>();

    @Override
    public void onSubscribe(Subscription subscription) {
      subscribed.set(subscription);
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(String line) {
      lines.add(line);
    }

    @Override
    public void onError(Throwable failure) {
      lines.add("The stream broke: " + failure);
    }

    @Override
    public void onComplete() {
      lines.add("The stream ended");
    }

    JsonNode question() throws InterruptedException {
      List<String> seen = new ArrayList<>();
      for (long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1); ; ) {
        String line = lines.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        assertThat(line).as("a question after " + seen).isNotNull();
        if (line.startsWith("data: {") && line.contains("elicitation/create")) {
          return Json.parse(line.substring("data: ".length()));
        }
        seen.add(line);
      }
    }

    @Override
    public void close() {
      Optional.ofNullable(subscribed.get()).ifPresent(Subscription::cancel);
    }
  }

  @Test
  void aClientOfAnOlderRevisionMayReachAnyServer() throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    try (Fermata here = Dinner.clusterHost(database);
        Fermata there = Dinner.clusterHost(database);
        McpServer one = McpServer.serving(here).port(0).start();
        McpServer other = McpServer.serving(there).port(0).start()) {
      String initialize =
          """
          {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
           "capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}""";
      String session =
          client
              .send(
                  older(one, "").POST(BodyPublishers.ofString(initialize)).build(),
                  BodyHandlers.ofString())
              .headers()
              .firstValue("Mcp-Session-Id")
              .orElseThrow();
      String call =
          """
          {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"dinner",
           "arguments":{"action":"start","intent":"a table"}}}""";

      try (Lines events = new Lines()) {
        CompletableFuture<?> asking =
            client.sendAsync(
                older(other, session).POST(BodyPublishers.ofString(call)).build(),
                BodyHandlers.fromLineSubscriber(events));
        ObjectNode reply = Json.object().put("jsonrpc", "2.0");
        reply.set("id", events.question().path("id"));
        ObjectNode form = reply.putObject("result").put("action", "accept").putObject("content");
        form.put("name", "Ada").put("email", "ada@acme.com");
        int accepted =
            client
                .send(
                    older(one, session).POST(BodyPublishers.ofString(reply.toString())).build(),
                    BodyHandlers.ofString())
                .statusCode();

        assertThat(accepted).isEqualTo(202);
        assertThat(events.question().at("/params/message").asText()).isEqualTo("How many are you?");
        assertThat(asking).isNotCompletedExceptionally();
      }
    }
  }
}

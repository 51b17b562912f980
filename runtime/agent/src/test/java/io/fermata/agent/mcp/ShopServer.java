package io.fermata.agent.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/** The shop over HTTP, with sessions that do not survive it. */
final class ShopServer implements AutoCloseable {
  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Set<String> sessions = ConcurrentHashMap.newKeySet();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final @Nullable JsonNode tools;

  /** What was asked, in the order it came. */
  final BlockingQueue<JsonNode> received = new LinkedBlockingQueue<>();

  final BlockingQueue<String> tokens = new LinkedBlockingQueue<>();

  /** The status that refuses the credentials of every message; 0 if they are good. */
  private volatile int refusing;

  private ShopServer(int port, @Nullable JsonNode tools) throws IOException {
    this.tools = tools;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.setExecutor(threads);
    server.createContext("/shop", this::handle);
    server.start();
  }

  static ShopServer on(int port) throws IOException {
    return new ShopServer(port, null);
  }

  /** One whose whole list of tools is this. */
  static ShopServer having(String tools) throws IOException {
    return new ShopServer(0, Json.parse("{\"tools\":" + tools + "}"));
  }

  int port() {
    return server.getAddress().getPort();
  }

  String url() {
    return "http://localhost:" + port() + "/shop";
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String session = exchange.getRequestHeaders().getFirst("Mcp-Session-Id");
      if (!exchange.getRequestMethod().equals("POST")) {
        reply(exchange, exchange.getRequestMethod().equals("DELETE") ? 200 : 405, null);
        return;
      }
      JsonNode message =
          Json.parse(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
      // Once a message has been received here, it is decided whether its session is known.
      boolean known = session != null && sessions.contains(session);
      received.add(message);
      tokens.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
      if (refusing != 0) {
        exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer error=\"invalid_token\"");
        reply(exchange, refusing, null);
        return;
      }
      String method = message.path("method").asText();
      if (method.equals("initialize")) {
        String born = UUID.randomUUID().toString();
        sessions.add(born);
        exchange.getResponseHeaders().set("Mcp-Session-Id", born);
      } else if (!known) {
        reply(exchange, 404, null);
        return;
      }
      String how = message.path("params").path("arguments").path("how").asText();
      if (how.equals("never")) {
        closing.await();
      } else if (how.equals("hang up")) {
        return;
      }
      ObjectNode answer = Shop.answer(message);
      if (answer != null && tools != null && method.equals("tools/list")) {
        answer.set("result", tools);
      }
      reply(exchange, answer == null ? 202 : 200, answer);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Every session is gone; calls in progress stay. */
  void forgetSessions() {
    sessions.clear();
  }

  void refuseCredentials(int status) {
    refusing = status;
  }

  void acceptCredentials() {
    refusing = 0;
  }

  private static void reply(HttpExchange exchange, int status, @Nullable JsonNode body)
      throws IOException {
    if (body == null) {
      exchange.sendResponseHeaders(status, -1);
    } else {
      byte[] bytes = Json.text(body).getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(status, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  /** The next message of a method, waiting for it. */
  JsonNode next(String method) throws InterruptedException {
    while (true) {
      JsonNode message = received.poll(20, java.util.concurrent.TimeUnit.SECONDS);
      if (message == null) {
        throw new AssertionError("Nobody sent " + method);
      } else if (message.path("method").asText().equals(method)) {
        return message;
      }
    }
  }

  @Override
  public void close() {
    closing.countDown();
    server.stop(0);
    threads.shutdownNow();
  }
}

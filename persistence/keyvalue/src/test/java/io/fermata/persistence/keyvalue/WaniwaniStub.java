package io.fermata.persistence.keyvalue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/** Behaves as the key-value API of a WaniWani account does: JSON objects by key, per bearer key. */
final class WaniwaniStub implements AutoCloseable {

  private static final String PATH = "/api/mcp/redis/";
  private static final ObjectMapper JSON = new ObjectMapper();

  static {
    // Otherwise every answer waits 40 ms for the acknowledgement of its head.
    System.setProperty("sun.net.httpserver.nodelay", "true");
  }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newFixedThreadPool(8);
  private final Set<String> apiKeys = ConcurrentHashMap.newKeySet();
  private final Map<String, JsonNode> values = new ConcurrentHashMap<>();
  private final List<String> bodies = new CopyOnWriteArrayList<>();
  private volatile @Nullable String trouble;
  private volatile int status = 200;

  WaniwaniStub() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(PATH, this::handle);
    server.setExecutor(threads);
    server.start();
  }

  String base() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  String newKey() {
    String key = "wwk-" + apiKeys.size();
    apiKeys.add(key);
    return key;
  }

  /** Answers every call so, whatever it is. */
  void answer(int code, @Nullable String body) {
    status = code;
    trouble = body;
  }

  /** The bodies of what was posted. */
  List<String> bodies() {
    return List.copyOf(bodies);
  }

  @Nullable JsonNode value(String apiKey, String key) {
    return values.get(apiKey + " " + key);
  }

  private void handle(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
    String wrong = trouble;
    if (wrong != null) {
      reply(exchange, status, wrong);
      return;
    }
    String authorization = exchange.getRequestHeaders().getFirst("Authorization");
    String apiKey = authorization == null ? "" : authorization.replaceFirst("^Bearer ", "");
    if (!apiKeys.contains(apiKey)) {
      reply(exchange, 401, "{\"error\":\"Unauthorized\"}");
      return;
    }
    bodies.add(body);
    JsonNode request = JSON.readTree(body);
    String key = apiKey + " " + request.path("key").textValue();
    JsonNode value = request.path("value");
    ObjectNode answer = JSON.createObjectNode();
    switch (exchange.getRequestURI().getPath().substring(PATH.length())) {
      case "get" -> answer.set("data", values.get(key));
      case "set" -> {
        if (!value.isObject()) {
          reply(exchange, 400, "{\"error\":\"value must be an object\"}");
          return;
        }
        values.put(key, value);
        answer.putObject("data").put("ok", true);
      }
      case "delete" -> {
        values.remove(key);
        answer.putObject("data").put("ok", true);
      }
      default -> {
        reply(exchange, 404, "{}");
        return;
      }
    }
    reply(exchange, 200, answer.toString());
  }

  private static void reply(HttpExchange exchange, int code, String body) throws IOException {
    byte[] bytes = body.getBytes(UTF_8);
    exchange.getResponseHeaders().add("Content-Type", "application/json");
    exchange.sendResponseHeaders(code, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}

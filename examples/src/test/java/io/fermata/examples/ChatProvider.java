package io.fermata.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A provider of OpenAI's streamed chat completions; each request takes the next reply. */
public final class ChatProvider implements AutoCloseable {
  private final HttpServer server;
  private final Deque<String> replies = new ConcurrentLinkedDeque<>();
  private final List<JsonNode> requests = new CopyOnWriteArrayList<>();

  public ChatProvider() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/v1/chat/completions", this::answer);
    server.start();
  }

  public String baseUrl() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1";
  }

  public ChatProvider call(String tool, ObjectNode arguments) {
    ObjectNode delta = Json.object();
    ObjectNode call = delta.putArray("tool_calls").addObject().put("index", 0);
    call.put("id", "call_1").put("type", "function");
    call.putObject("function").put("name", tool).put("arguments", Json.text(arguments));
    return reply(delta, "tool_calls");
  }

  public ChatProvider say(String text) {
    return reply(Json.object().put("content", text), "stop");
  }

  private ChatProvider reply(ObjectNode delta, String finish) {
    replies.add(event(delta, null) + event(Json.object(), finish) + "data: [DONE]\n\n");
    return this;
  }

  private static String event(ObjectNode delta, @Nullable String finish) {
    ObjectNode chunk = Json.object().put("id", "1").put("object", "chat.completion.chunk");
    ObjectNode choice = chunk.putArray("choices").addObject().put("index", 0);
    choice.put("finish_reason", finish).set("delta", delta);
    return "data: " + Json.text(chunk) + "\n\n";
  }

  /** The requests so far, the oldest first. */
  public List<JsonNode> requests() {
    return List.copyOf(requests);
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] request = exchange.getRequestBody().readAllBytes();
      requests.add(Json.parse(new String(request, StandardCharsets.UTF_8)));
      byte[] body = replies.remove().getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  @Override
  public void close() {
    server.stop(0);
  }
}

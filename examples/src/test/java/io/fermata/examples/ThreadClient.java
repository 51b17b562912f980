package io.fermata.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.flow.json.Json;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A client of one thread over HTTP, which outlives the servers that it calls. */
public final class ThreadClient {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private ServerProcess server;
  private String place = "/threads";

  private ThreadClient(ServerProcess server) {
    this.server = server;
  }

  public static ThreadClient create(ServerProcess server, String agent) throws Exception {
    ThreadClient client = new ThreadClient(server);
    String id = client.post("", Map.of("agent", agent)).path("threadId").asText();
    client.place = "/threads/" + id;
    return client;
  }

  public void moveTo(ServerProcess other) {
    server = other;
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(server.at(place + path)).timeout(Duration.ofSeconds(60));
  }

  private JsonNode post(String path, Object body) throws Exception {
    HttpRequest request =
        request(path)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(Json.text(Json.tree(body))))
            .build();
    HttpResponse<String> response = http.send(request, BodyHandlers.ofString());
    if (response.statusCode() >= 300) {
      throw new AssertionError(path + " returned " + response.body());
    }
    return MAPPER.readTree(response.body());
  }

  /** Sends a message, and returns the thread after it has handled the message. */
  public JsonNode say(String text) throws Exception {
    post("/messages", Map.of("content", text));
    return settled();
  }

  public void answer(JsonNode question, String name, Object value) throws Exception {
    String call = question.path("call").asText();
    String id = question.path("id").asText();
    post("/answers", Map.of("call", call, "question", id, name, value));
  }

  public JsonNode view() throws Exception {
    return MAPPER.readTree(http.send(request("").build(), BodyHandlers.ofString()).body());
  }

  /** The thread once it has stopped working. */
  public JsonNode settled() throws Exception {
    JsonNode view = view();
    for (int i = 0; i < 600 && view.path("status").asText().equals("working"); i++) {
      Thread.sleep(50);
      view = view();
    }
    return view;
  }

  public List<String> said() throws Exception {
    HttpRequest messages = request("/messages").build();
    JsonNode page = MAPPER.readTree(http.send(messages, BodyHandlers.ofString()).body());
    List<String> said = new ArrayList<>();
    for (JsonNode message : page.path("messages")) {
      if (message.path("content").isTextual() && !message.path("role").asText().equals("tool")) {
        said.add(message.path("role").asText() + ": " + message.path("content").asText());
      }
    }
    return said;
  }

  /** The lines of the event stream after an event, up to the first one that begins so. */
  public List<String> events(@Nullable String after, String last) throws Exception {
    HttpRequest.Builder events = request("/events").header("Accept", "text/event-stream");
    if (after != null) {
      events.header("Last-Event-ID", after);
    }
    List<String> read = new ArrayList<>();
    try (Stream<String> lines = http.send(events.build(), BodyHandlers.ofLines()).body()) {
      Iterator<String> each = lines.iterator();
      String line = "";
      while (!line.startsWith(last) && each.hasNext()) {
        line = each.next();
        read.add(line);
      }
    }
    return read;
  }
}

package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.net.URI;
import java.util.Set;

/** A client that accepts tasks, and shows forms by default. */
public final class TaskClient {
  static final String TASKS = "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}";
  private static final Set<String> OVER = Set.of("completed", "failed", "cancelled");

  private final URI endpoint;
  private final String key;
  private final String capabilities;

  private TaskClient(URI endpoint, String key, String capabilities) {
    this.endpoint = endpoint;
    this.key = key;
    this.capabilities = capabilities;
  }

  public TaskClient(URI endpoint) {
    this(endpoint, "", "{\"elicitation\":{}," + TASKS + "}");
  }

  public TaskClient key(String apiKey) {
    return new TaskClient(endpoint, apiKey, capabilities);
  }

  public TaskClient declaring(String json) {
    return new TaskClient(endpoint, key, json);
  }

  public Wired wired() {
    Wired wired = new Wired(endpoint);
    return key.isEmpty() ? wired : wired.with("Authorization", "Bearer " + key);
  }

  public Wired.Said say(String method, String name, String params) {
    Wired wired = wired();
    return wired.send(wired.modernMessage(method, name, params, capabilities));
  }

  /** A stream of task notifications. */
  public Events listen(String... ids) throws Exception {
    Wired wired = wired();
    String params = "\"notifications\":{\"taskIds\":" + Json.text(Json.tree(ids)) + "}";
    return wired
        .listen(wired.modernMessage("subscriptions/listen", "", params, capabilities))
        .get();
  }

  public Wired.Said call(String tool, String arguments) {
    return say("tools/call", tool, "\"name\":\"%s\",\"arguments\":%s".formatted(tool, arguments));
  }

  /** The result of a call that may wait, over a stream. */
  public JsonNode waited(String tool, String params) throws Exception {
    Wired wired = wired();
    String all = "\"name\":\"" + tool + "\",\"arguments\":{}" + params;
    Events answer = wired.listen(wired.modernMessage("tools/call", tool, all, capabilities)).get();
    return (answer.streamed() ? answer.next() : answer.plain()).path("result");
  }

  public Wired.Said start(String flow) {
    return call(flow, "{\"action\":\"start\",\"intent\":\"to eat\"}");
  }

  public Wired.Said task(String method, String id) {
    return say("tasks/" + method, id, "\"taskId\":\"" + id + "\"");
  }

  public JsonNode get(String id) {
    Wired.Said said = task("get", id);
    assertThat(said.body().has("error")).as(said.body().toString()).isFalse();
    assertThat(said.result().path("resultType").asText()).isEqualTo("complete");
    return said.result();
  }

  public Wired.Said update(String id, ObjectNode responses) {
    return say(
        "tasks/update", id, "\"taskId\":\"%s\",\"inputResponses\":%s".formatted(id, responses));
  }

  public static ObjectNode accepted(ObjectNode responses, String key, String field, Object value) {
    ObjectNode reply = responses.putObject(key).put("action", "accept");
    reply.putObject("content").set(field, Json.tree(value));
    return responses;
  }

  /** The task once it has this status. */
  public JsonNode when(String id, String status) throws InterruptedException {
    JsonNode task = get(id);
    for (int i = 0; i < 600 && !task.path("status").asText().equals(status); i++) {
      assertThat(OVER).as(task.toString()).doesNotContain(task.path("status").asText());
      Thread.sleep(50);
      task = get(id);
    }
    assertThat(task.path("status").asText()).isEqualTo(status);
    return task;
  }

  /** The key of the request that asks for a field. */
  public static String key(JsonNode task, String field) {
    for (var request : task.path("inputRequests").properties()) {
      JsonNode fields = request.getValue().at("/params/requestedSchema/properties");
      if (fields.has(field)) {
        return request.getKey();
      }
    }
    throw new AssertionError("Nothing asks for " + field + ": " + task);
  }
}

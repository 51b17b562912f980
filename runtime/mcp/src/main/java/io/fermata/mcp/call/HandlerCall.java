package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpChanges;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.feature.McpReply;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.JsonRpcCodec;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One round of a call: the request, and what its handler asks and remembers. */
final class HandlerCall implements McpCall {
  private final McpRequest request;
  private final String name;
  private final ObjectNode arguments;
  private final ObjectNode replies;
  private final ObjectNode fresh;
  private final McpChanges changes;
  private JsonNode remembered;
  private volatile boolean cancelled;

  HandlerCall(
      McpRequest request,
      String name,
      ObjectNode arguments,
      RoundInputs inputs,
      McpChanges changes) {
    this.request = request;
    this.name = name;
    this.arguments = arguments;
    this.replies = inputs.replies().deepCopy();
    this.fresh = inputs.fresh();
    this.remembered = inputs.remembered();
    this.changes = changes;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public ObjectNode arguments() {
    return arguments;
  }

  @Override
  public <T extends Record> T arguments(Class<T> type) {
    return Json.value(arguments, type);
  }

  @Override
  public String argument(String argument) {
    return arguments.path(argument).asText();
  }

  @Override
  public String principal() {
    return request.principal();
  }

  @Override
  public @Nullable String session() {
    return request.session();
  }

  @Override
  public ObjectNode meta() {
    return request.meta();
  }

  @Override
  public boolean declares(String capability) {
    return request.capabilities().path(capability).isObject();
  }

  @Override
  public boolean cancelled() {
    return cancelled;
  }

  @Override
  public McpChanges changes() {
    return changes;
  }

  @Override
  public void progress(double done, double total) {
    progress(done, total, null);
  }

  @Override
  public void progress(double done, double total, @Nullable String message) {
    JsonNode token = OutboundQueue.token(request.meta());
    OutboundQueue queue = request.progress();
    if (queue == null || token.isMissingNode() || !Double.isFinite(done)) {
      return;
    }
    ObjectNode params = Json.object();
    params.set("progressToken", token);
    params.put("progress", done);
    if (Double.isFinite(total)) {
      params.put("total", total);
    }
    if (message != null) {
      params.put("message", Texts.sound(message));
    }
    queue.offerLatest(JsonRpcCodec.notification("notifications/progress", params));
  }

  @Override
  public void releaseConnection() {
    OutboundQueue queue = request.progress();
    if (queue != null) {
      queue.requestRelease();
    }
  }

  @Override
  public void log(McpLevel level, Object data) {
    OutboundQueue queue = request.progress();
    McpLevel least = request.logLevel();
    if (queue == null || least == null || level.compareTo(least) < 0) {
      return;
    }
    ObjectNode params = Json.object().put("level", level.text).put("logger", name);
    params.set("data", Json.tree(data));
    queue.offer(JsonRpcCodec.notification("notifications/message", params));
  }

  @Override
  public McpReply ask(String key, McpAsk ask) {
    return Objects.requireNonNull(ask(Map.of(key, ask)).get(key));
  }

  @Override
  public synchronized Map<String, McpReply> ask(Map<String, McpAsk> asks) {
    Map<String, McpReply> replied = new LinkedHashMap<>();
    Map<String, McpAsk> open = new LinkedHashMap<>();
    asks.forEach(
        (key, ask) -> {
          JsonNode reply = fresh.has(key) ? fresh.path(key) : replies.path(key);
          if (ask.fits(reply)) {
            replies.set(key, reply);
            replied.put(key, new McpReply(reply));
          } else {
            open.put(key, ask);
          }
        });
    if (!open.isEmpty()) {
      throw new UnansweredException(open);
    }
    return replied;
  }

  @Override
  public synchronized void remember(Object value) {
    remembered = Json.tree(value);
  }

  @Override
  public synchronized @Nullable JsonNode remembered() {
    return remembered.isNull() ? null : remembered;
  }

  void cancel() {
    cancelled = true;
  }

  /** The inputs of the next round. */
  synchronized RoundInputs next(ObjectNode replied) {
    return new RoundInputs(replies.deepCopy(), replied, remembered);
  }

  /** The inputs of the next round, before there are replies. */
  RoundInputs next() {
    return next(Json.object());
  }
}

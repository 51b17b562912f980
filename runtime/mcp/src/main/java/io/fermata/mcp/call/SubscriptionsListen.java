package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The method {@code subscriptions/listen}. */
public final class SubscriptionsListen {
  private static final String WATCHED = "resourceSubscriptions";
  private static final String TASKS = "taskIds";

  /** How many tasks one subscription may follow. */
  private static final int MAX_TASKS = 100;

  private final Subscriptions subscriptions;
  private final ResultWriter results;
  private final TaskMethods tasks;

  public SubscriptionsListen(Subscriptions subscriptions, ResultWriter results, TaskMethods tasks) {
    this.subscriptions = subscriptions;
    this.results = results;
    this.tasks = tasks;
  }

  /** The method {@code subscriptions/listen}: it is answered when the subscription ends. */
  public CompletionStage<RpcResult> listen(McpRequest request) {
    OutboundQueue queue = request.progress();
    if (queue == null) {
      throw RpcException.invalidRequest("Notifications need a stream: accept text/event-stream.");
    }
    JsonNode filter = filter(request);
    Set<Subscriptions.Kind> wanted = EnumSet.noneOf(Subscriptions.Kind.class);
    Stream.of(Subscriptions.Kind.values())
        .filter(kind -> wants(filter, kind.filter))
        .forEach(wanted::add);
    Set<String> watched = new TreeSet<>();
    texts(filter, WATCHED).forEach(uri -> watched.add(Subscriptions.watchable(uri)));
    Subscriptions.requireRoom(watched.size(), watched.stream().mapToInt(String::length).sum());
    List<TaskIds.Task> known = tasks(filter, request);
    Subscriptions.Subscription subscription =
        new Subscriptions.Subscription(
            request.id(), wanted, watched, queue, new CompletableFuture<>());
    subscriptions.add(
        subscription,
        request.caller(),
        () ->
            subscription.send(
                "notifications/subscriptions/acknowledged", acknowledged(wanted, watched, known)));
    new TaskNotifier(tasks, request, subscription, queue).start(known);
    return subscription.ended().thenApply(ended -> end(request, queue));
  }

  // --- what is wanted --------------------------------------------------------------------------

  private static JsonNode filter(McpRequest request) {
    JsonNode filter = request.params().path("notifications");
    if (!filter.isObject()) {
      throw RpcException.invalidParams("The parameter notifications must be an object.");
    }
    return filter;
  }

  private static boolean wants(JsonNode filter, String name) {
    JsonNode given = filter.path(name);
    if (!given.isBoolean() && !isAbsent(given)) {
      throw mustBe(name, "true or false");
    }
    return given.asBoolean();
  }

  private static List<String> texts(JsonNode filter, String name) {
    JsonNode given = filter.path(name);
    List<String> texts = new ArrayList<>();
    given.forEach(each -> texts.add(each.asText()));
    boolean fits =
        given.isArray()
            && StreamSupport.stream(given.spliterator(), false).allMatch(JsonNode::isTextual);
    if (!fits && !isAbsent(given)) {
      throw mustBe(name, "an array of strings");
    }
    return texts;
  }

  private static boolean isAbsent(JsonNode given) {
    return given.isMissingNode() || given.isNull();
  }

  private static RpcException mustBe(String name, String what) {
    return RpcException.invalidParams(
        "The parameter notifications.%s must be %s.".formatted(name, what));
  }

  /** The named tasks whose ids were minted for the caller. */
  private List<TaskIds.Task> tasks(JsonNode filter, McpRequest request) {
    List<String> named = texts(filter, TASKS);
    if (isAbsent(filter.path(TASKS))) {
      return List.of();
    }
    TaskMethods.require(request);
    if (named.size() > MAX_TASKS) {
      throw RpcException.invalidParams(
          "A subscription may follow at most %s tasks: name fewer.".formatted(MAX_TASKS));
    }
    Map<String, TaskIds.Task> known = new LinkedHashMap<>();
    for (String id : named) {
      TaskIds.Task task = tasks.find(id, request.caller());
      if (task != null) {
        known.put(task.id(), task);
      }
    }
    return List.copyOf(known.values());
  }

  private static ObjectNode acknowledged(
      Set<Subscriptions.Kind> wanted, Set<String> watched, List<TaskIds.Task> known) {
    ObjectNode params = Json.object();
    ObjectNode honoured = params.putObject("notifications");
    wanted.forEach(kind -> honoured.put(kind.filter, true));
    if (!watched.isEmpty()) {
      watched.forEach(honoured.putArray(WATCHED)::add);
    }
    if (!known.isEmpty()) {
      ArrayNode ids = honoured.putArray(TASKS);
      known.forEach(task -> ids.add(task.id()));
    }
    return params;
  }

  /** The end of a stream of its own is a notification in itself. */
  private RpcResult end(McpRequest request, OutboundQueue queue) {
    if (request.connection()) {
      queue.send(
          JsonRpcCodec.notification(
              "notifications/cancelled", Json.object().set("requestId", request.id())));
    }
    ObjectNode fields = Json.object();
    fields.putObject("_meta").set(Subscriptions.ID, request.id());
    return results.once(request.revision(), fields);
  }
}

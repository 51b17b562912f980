package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/** The method {@code subscriptions/listen}. */
final class Listening {
  private static final String WATCHED = "resourceSubscriptions";
  private static final String TASKS = "taskIds";

  /** How many tasks one client may hear of in one stream. */
  private static final int MAX_TASKS = 100;

  private final Subscriptions subscriptions;
  private final Results results;
  private final TaskCalls tasks;

  Listening(Subscriptions subscriptions, Results results, TaskCalls tasks) {
    this.subscriptions = subscriptions;
    this.results = results;
    this.tasks = tasks;
  }

  /** The method {@code subscriptions/listen}: it is answered when there will be nothing more. */
  CompletionStage<Result> listen(Request request) {
    Progress way = request.progress();
    if (way == null) {
      throw Refusal.invalid("Notifications need a stream: accept text/event-stream.");
    }
    JsonNode filter = request.params().path("notifications");
    Set<Subscriptions.Kind> wanted = EnumSet.noneOf(Subscriptions.Kind.class);
    Stream.of(Subscriptions.Kind.values())
        .filter(kind -> filter.path(kind.filter).asBoolean())
        .forEach(wanted::add);
    Set<String> watched = new TreeSet<>();
    filter.path(WATCHED).forEach(uri -> watched.add(Subscriptions.watchable(uri.asText())));
    Subscriptions.requireRoom(watched);
    List<TaskIds.Task> known = tasks(filter, request);
    Subscriptions.Subscription subscription =
        new Subscriptions.Subscription(
            request.id(), wanted, watched, way, new CompletableFuture<>());
    subscriptions.add(
        subscription,
        request.caller(),
        () ->
            subscription.insist(
                "notifications/subscriptions/acknowledged", acknowledged(wanted, watched, known)));
    Looks looks = new Looks(way);
    known.forEach(task -> TaskFeed.start(tasks, task, request, subscription, looks));
    return subscription.ended().thenApply(ended -> over(request));
  }

  /** Those of the named tasks that the client was given. */
  private List<TaskIds.Task> tasks(JsonNode filter, Request request) {
    JsonNode named = filter.path(TASKS);
    if (named.isMissingNode()) {
      return List.of();
    }
    TaskCalls.require(request);
    if (named.size() > MAX_TASKS) {
      throw Refusal.params("A client may hear of %d tasks in a stream.".formatted(MAX_TASKS));
    }
    Map<String, TaskIds.Task> known = new LinkedHashMap<>();
    for (JsonNode id : named) {
      TaskIds.Task task = tasks.known(id.asText(), request.caller());
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

  private Result over(Request request) {
    ObjectNode fields = Json.object();
    fields.putObject("_meta").set(Subscriptions.ID, request.id());
    return results.once(request.revision(), fields);
  }
}

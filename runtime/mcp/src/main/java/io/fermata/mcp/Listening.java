package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.EnumSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** How clients come to hear of changes, in the way of either era. */
final class Listening {
  private static final String WATCHED = "resourceSubscriptions";

  private final Subscriptions subscriptions;
  private final Results results;
  private final Set<Subscriptions.Kind> kinds;

  /**
   * @param kinds the lists that this server has
   */
  Listening(Subscriptions subscriptions, Results results, Set<Subscriptions.Kind> kinds) {
    this.subscriptions = subscriptions;
    this.results = results;
    this.kinds = kinds;
  }

  /** The method {@code subscriptions/listen}: it is answered when there will be nothing more. */
  CompletionStage<Result> listen(Request request) {
    Progress way = request.progress();
    if (way == null) {
      throw Refusal.invalid("Changes are told in a stream: accept text/event-stream.");
    }
    JsonNode filter = request.params().path("notifications");
    Set<Subscriptions.Kind> wanted = EnumSet.noneOf(Subscriptions.Kind.class);
    kinds.stream().filter(kind -> filter.path(kind.filter).asBoolean()).forEach(wanted::add);
    Set<String> watched = new TreeSet<>();
    filter.path(WATCHED).forEach(uri -> watched.add(watchable(uri.asText())));
    requireRoom(watched);
    Subscriptions.Subscription subscription =
        new Subscriptions.Subscription(
            request.id(), wanted, watched, way, new CompletableFuture<>());
    subscriptions.add(
        subscription,
        request.caller(),
        () ->
            subscription.insist(
                "notifications/subscriptions/acknowledged", acknowledged(wanted, watched)));
    return subscription.ended().thenApply(ended -> over(request));
  }

  private static void requireRoom(Set<String> watched) {
    if (watched.size() > Subscriptions.MAX_WATCHED
        || watched.stream().mapToInt(String::length).sum() > Subscriptions.MAX_WATCHED_TEXT) {
      throw Refusal.params(
          "A client may watch %d resources at a time, whose addresses have %d characters together."
              .formatted(Subscriptions.MAX_WATCHED, Subscriptions.MAX_WATCHED_TEXT));
    }
  }

  private static String watchable(String uri) {
    if (uri.length() > McpTemplate.MAX_URI) {
      throw Refusal.params(
          "The address of a resource has at most %d characters.".formatted(McpTemplate.MAX_URI));
    }
    return uri;
  }

  private static ObjectNode acknowledged(Set<Subscriptions.Kind> wanted, Set<String> watched) {
    ObjectNode params = Json.object();
    ObjectNode honoured = params.putObject("notifications");
    wanted.forEach(kind -> honoured.put(kind.filter, true));
    if (!watched.isEmpty()) {
      watched.forEach(honoured.putArray(WATCHED)::add);
    }
    return params;
  }

  private Result over(Request request) {
    ObjectNode fields = Json.object();
    fields.putObject("_meta").set(Subscriptions.ID, request.id());
    return results.once(request.revision(), fields);
  }

  /** Has a legacy client hear of all lists and of what it watches, as long as it is there. */
  void attach(Peer peer, Caller caller, Progress way, CompletableFuture<Void> ended) {
    subscriptions.add(
        new Subscriptions.Subscription(null, kinds, peer.watched, way, ended), caller, () -> {});
  }

  /** The method {@code resources/subscribe}. */
  Result watch(Request request) {
    Set<String> watched = request.peer().watched;
    String uri = watchable(request.text("uri"));
    Set<String> more = new TreeSet<>(watched);
    more.add(uri);
    requireRoom(more);
    watched.add(uri);
    return Results.EMPTY;
  }

  /** The method {@code resources/unsubscribe}. */
  Result unwatch(Request request) {
    request.peer().watched.remove(request.text("uri"));
    return Results.EMPTY;
  }

  /** The method {@code logging/setLevel}. */
  Result level(Request request) {
    McpLevel level = McpLevel.of(request.text("level"));
    if (level == null) {
      throw Refusal.params("The parameter level must be one of debug to emergency.");
    }
    request.peer().level = level;
    return Results.EMPTY;
  }
}

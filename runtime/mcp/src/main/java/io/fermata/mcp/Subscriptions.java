package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Who wants to hear of changes, as long as its stream is open. */
final class Subscriptions implements AutoCloseable {
  static final String ID = "io.modelcontextprotocol/subscriptionId";

  /** How many resources one client may watch. */
  static final int MAX_WATCHED = 1_000;

  /** A list that may change. */
  enum Kind {
    TOOLS("toolsListChanged", "notifications/tools/list_changed"),
    PROMPTS("promptsListChanged", "notifications/prompts/list_changed"),
    RESOURCES("resourcesListChanged", "notifications/resources/list_changed");

    final String filter;
    final String notification;

    Kind(String filter, String notification) {
      this.filter = filter;
      this.notification = notification;
    }
  }

  /**
   * One that listens.
   *
   * @param id what its notifications are tagged with; null if they are not
   * @param watched the resources it watches, which may change
   * @param ended completes when the server ends it
   */
  record Subscription(
      @Nullable JsonNode id,
      Set<Kind> kinds,
      Set<String> watched,
      Progress way,
      CompletableFuture<Void> ended) {
    boolean wants(Kind kind) {
      return kinds.contains(kind);
    }

    boolean watches(String uri) {
      return watched.contains(uri);
    }

    void tell(String method, ObjectNode params) {
      ObjectNode tagged = params.deepCopy();
      if (id != null) {
        tagged.withObjectProperty("_meta").set(ID, id);
      }
      way.tell(Wire.notification(method, tagged));
    }
  }

  private final Streams streams;
  private final Set<Subscription> all = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Subscriptions(Streams streams) {
    this.streams = streams;
  }

  /**
   * Listens until the client goes away or the server closes.
   *
   * @param first what to tell before anything else
   * @throws Refusal if the principal has as many streams as it may
   */
  void add(Subscription subscription, String principal, Runnable first) {
    if (!streams.tryEnter(principal)) {
      throw Refusal.tooManyStreams();
    }
    first.run();
    all.add(subscription);
    CompletionStage<Void> ended = subscription.ended();
    ended.whenComplete(
        (done, failure) -> {
          all.remove(subscription);
          streams.leave(principal);
        });
    subscription.way().hold();
    subscription.way().whenGone(() -> subscription.ended().complete(null));
    if (closed) {
      subscription.ended().complete(null);
    }
  }

  void tell(String method, ObjectNode params, Predicate<Subscription> whom) {
    all.stream().filter(whom).forEach(each -> each.tell(method, params));
  }

  /** Ends all: each would go on for as long as its client likes. */
  @Override
  public void close() {
    closed = true;
    all.forEach(each -> each.ended().complete(null));
  }
}

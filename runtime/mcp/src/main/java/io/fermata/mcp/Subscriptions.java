package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The clients that are notified of changes, while their streams are open. */
final class Subscriptions implements AutoCloseable {
  static final String ID = "io.modelcontextprotocol/subscriptionId";

  /** How many resources one client may watch. */
  static final int MAX_WATCHED = 1_000;

  /** How long their addresses may be together. */
  static final int MAX_WATCHED_TEXT = 32_768;

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

  /** One subscription. Compared by identity, as the watched resources may change. */
  static final class Subscription {
    private final @Nullable JsonNode id;
    private final Set<Kind> kinds;
    private final Set<String> watched;
    private final Progress way;
    private final CompletableFuture<Void> ended;

    /**
     * @param id what its notifications are tagged with; null if they are not
     * @param watched the resources it watches, which may change
     * @param ended completes when the server ends it
     */
    Subscription(
        @Nullable JsonNode id,
        Set<Kind> kinds,
        Set<String> watched,
        Progress way,
        CompletableFuture<Void> ended) {
      this.id = id;
      this.kinds = kinds;
      this.watched = watched;
      this.way = way;
      this.ended = ended;
    }

    boolean wants(Kind kind) {
      return kinds.contains(kind);
    }

    boolean watches(String uri) {
      return watched.contains(uri);
    }

    CompletableFuture<Void> ended() {
      return ended;
    }

    synchronized void tell(String method, ObjectNode params) {
      way.tell(notification(method, params));
    }

    /** Sends what must not be lost. */
    synchronized void insist(String method, ObjectNode params) {
      way.insist(notification(method, params));
    }

    /** Sends a state that must not be lost, unless a later one replaces it. */
    synchronized void insist(String subject, String method, ObjectNode params) {
      way.insist(subject, notification(method, params));
    }

    private byte[] notification(String method, ObjectNode params) {
      ObjectNode tagged = params.deepCopy();
      if (id != null) {
        tagged.withObjectProperty("_meta").set(ID, id);
      }
      return Wire.notification(method, tagged);
    }
  }

  private final Streams streams;
  private final Set<Subscription> all = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Subscriptions(Streams streams) {
    this.streams = streams;
  }

  /**
   * Subscribes until the client disconnects, its token expires, or the server closes.
   *
   * @param first sends the first message
   * @throws Refusal if the principal has as many streams as it may
   */
  void add(Subscription subscription, Caller caller, Runnable first) {
    String principal = caller.principal();
    if (!streams.tryEnter(principal)) {
      throw Refusal.tooManyStreams();
    }
    // The client is notified of changes from now on, and not before the first message.
    synchronized (subscription) {
      all.add(subscription);
      first.run();
    }
    CompletionStage<Void> ended = subscription.ended();
    ended.whenComplete(
        (done, failure) -> {
          all.remove(subscription);
          streams.leave(principal);
        });
    caller.endWithToken(subscription.ended());
    subscription.way.hold();
    subscription.way.whenGone(() -> subscription.ended().complete(null));
    if (closed) {
      subscription.ended().complete(null);
    }
  }

  /**
   * @throws Refusal if these are more resources than one client may watch
   */
  static void requireRoom(Set<String> watched) {
    if (watched.size() > MAX_WATCHED
        || watched.stream().mapToInt(String::length).sum() > MAX_WATCHED_TEXT) {
      throw Refusal.params(
          "A client may watch %d resources at a time, whose addresses have %d characters together."
              .formatted(MAX_WATCHED, MAX_WATCHED_TEXT));
    }
  }

  /**
   * @throws Refusal if a URI is too long to be watched
   */
  static String watchable(String uri) {
    if (uri.length() > McpTemplate.MAX_URI) {
      throw Refusal.params(
          "The address of a resource has at most %d characters.".formatted(McpTemplate.MAX_URI));
    }
    return uri;
  }

  void tell(String method, ObjectNode params, Predicate<Subscription> whom) {
    all.stream().filter(whom).forEach(each -> each.tell(method, params));
  }

  /** Ends all subscriptions; their clients would keep them open. */
  @Override
  public void close() {
    closed = true;
    all.forEach(each -> each.ended().complete(null));
  }
}

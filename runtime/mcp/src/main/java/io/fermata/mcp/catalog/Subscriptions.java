package io.fermata.mcp.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The clients that are notified of changes, while their streams are open. */
public final class Subscriptions implements AutoCloseable {
  public static final String ID = "io.modelcontextprotocol/subscriptionId";

  /** How many resources one client may watch. */
  static final int MAX_WATCHED = 1_000;

  /** The maximum total length of their URIs. */
  static final int MAX_WATCHED_TEXT = 32_768;

  /** A list that may change. */
  public enum Kind {
    TOOLS("toolsListChanged", "notifications/tools/list_changed"),
    PROMPTS("promptsListChanged", "notifications/prompts/list_changed"),
    RESOURCES("resourcesListChanged", "notifications/resources/list_changed");

    public final String filter;
    final String notification;

    Kind(String filter, String notification) {
      this.filter = filter;
      this.notification = notification;
    }
  }

  /** One subscription. Compared by identity, as the watched resources may change. */
  public static final class Subscription {
    private final @Nullable JsonNode id;
    private final Set<Kind> kinds;
    private final Set<String> watched;
    private final OutboundQueue queue;
    private final CompletableFuture<Void> ended;

    /**
     * @param id the id that its notifications carry; null for none
     * @param watched the resources it watches, which may change
     * @param ended completes when the server ends it
     */
    public Subscription(
        @Nullable JsonNode id,
        Set<Kind> kinds,
        Set<String> watched,
        OutboundQueue queue,
        CompletableFuture<Void> ended) {
      this.id = id;
      this.kinds = kinds;
      this.watched = watched;
      this.queue = queue;
      this.ended = ended;
    }

    boolean wants(Kind kind) {
      return kinds.contains(kind);
    }

    boolean watches(String uri) {
      return watched.contains(uri);
    }

    public CompletableFuture<Void> ended() {
      return ended;
    }

    /** Sends a notification that must not be lost. */
    public synchronized void send(String method, ObjectNode params) {
      queue.send(notification(method, params));
    }

    /** Sends a state that must not be lost, unless a later one replaces it. */
    public synchronized void send(String subject, String method, ObjectNode params) {
      queue.send(subject, notification(method, params));
    }

    private byte[] notification(String method, ObjectNode params) {
      ObjectNode tagged = params.deepCopy();
      if (id != null) {
        tagged.withObjectProperty("_meta").set(ID, id);
      }
      return JsonRpcCodec.notification(method, tagged);
    }
  }

  private final StreamQuota streams;
  private final Set<Subscription> all = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  public Subscriptions(StreamQuota streams) {
    this.streams = streams;
  }

  /**
   * Subscribes until the client disconnects, its token expires, or the server closes.
   *
   * @param first sends the first message
   * @throws RpcException if the principal has too many streams already
   */
  public void add(Subscription subscription, AuthenticatedCaller caller, Runnable first) {
    String principal = caller.principal();
    if (!streams.tryEnter(principal)) {
      throw RpcException.tooManyStreams();
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
    caller.completeAtExpiry(subscription.ended());
    subscription.queue.keepAlive();
    subscription.queue.onDisconnect(() -> subscription.ended().complete(null));
    if (closed) {
      subscription.ended().complete(null);
    }
  }

  /**
   * Requires that one client may watch so many resources at a time.
   *
   * @param length the total length of their URIs
   * @throws RpcException if there are too many of them
   */
  public static void requireRoom(int resources, int length) {
    if (resources > MAX_WATCHED || length > MAX_WATCHED_TEXT) {
      throw RpcException.invalidParams(
          "A client may watch at most %s resources, with URIs of at most %s characters in total: watch fewer."
              .formatted(MAX_WATCHED, MAX_WATCHED_TEXT));
    }
  }

  /**
   * Returns a URI that can be watched.
   *
   * @throws RpcException if a URI is too long to be watched
   */
  public static String watchable(String uri) {
    if (uri.length() > McpTemplate.MAX_URI) {
      throw RpcException.invalidParams(
          "The URI of a resource may have at most %s characters.".formatted(McpTemplate.MAX_URI));
    }
    return uri;
  }

  /** Notifies of a change; of several of the same that a client has not read yet, once. */
  void publish(String method, ObjectNode params, Predicate<Subscription> filter) {
    String subject = method + " " + params.path("uri").asText();
    all.stream().filter(filter).forEach(each -> each.send(subject, method, params));
  }

  /** Ends all subscriptions, which their clients would keep open. */
  @Override
  public void close() {
    closed = true;
    all.forEach(each -> each.ended().complete(null));
  }
}

package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.HostBus;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The servers of the other hosts of a cluster. Any of them may get a client's next message, which
 * is about a request that is open on another one: they pass it to each other.
 */
final class PeerServers {
  private static final String REPLIED = "client-replied";
  private static final String CANCELLED = "request-cancelled";
  private static final String ENDED = "session-ended";
  private static final String WATCHED = "resource-watched";
  private static final String UNWATCHED = "resource-unwatched";
  private static final String LEVEL = "level-set";

  private final HostBus bus;
  private final McpSessions sessions;
  private final ClientRequests clientRequests;
  private final CancellableRequests cancellable;

  PeerServers(
      HostBus bus,
      McpSessions sessions,
      ClientRequests clientRequests,
      CancellableRequests cancellable) {
    this.bus = bus;
    this.sessions = sessions;
    this.clientRequests = clientRequests;
    this.cancellable = cancellable;
  }

  /**
   * Receives what the others pass, until the subscription ends. A handler may continue with a reply
   * on the thread that brings it, so that is one of its own.
   */
  Runnable subscribe() {
    ExecutorService thread =
        Executors.newSingleThreadExecutor(task -> new Thread(task, "fermata-mcp-peers"));
    Runnable end = bus.subscribe(message -> thread.execute(() -> receive(message)));
    return () -> {
      end.run();
      thread.shutdown();
    };
  }

  /** A client has replied to a question of another server. */
  void replied(JsonNode response, String principal) {
    ObjectNode reply = Json.object();
    for (String member : List.of("id", "result", "error")) {
      if (response.has(member)) {
        reply.set(member, response.get(member));
      }
    }
    pass(REPLIED, principal, null, reply);
  }

  /** A client has cancelled a request that another server has. */
  void cancelled(String session, String principal, JsonNode id) {
    pass(CANCELLED, principal, session, id);
  }

  void ended(String session, String principal) {
    pass(ENDED, principal, session, NullNode.getInstance());
  }

  /** The stream of the client, which notifies it of the resource, may be that of any server. */
  void watched(String session, String principal, String uri) {
    pass(WATCHED, principal, session, TextNode.valueOf(uri));
  }

  void unwatched(String session, String principal, String uri) {
    pass(UNWATCHED, principal, session, TextNode.valueOf(uri));
  }

  /** The messages of any server to the client are to have at least this level. */
  void level(String session, String principal, McpLevel level) {
    pass(LEVEL, principal, session, TextNode.valueOf(level.text));
  }

  private void pass(String what, String principal, @Nullable String session, JsonNode content) {
    ObjectNode message =
        Json.object().put("mcp", what).put("principal", principal).put("session", session);
    bus.publish(message.set("content", content));
  }

  private void receive(JsonNode message) {
    String principal = message.path("principal").asText();
    String session = message.path("session").asText();
    JsonNode content = message.path("content");
    switch (message.path("mcp").asText()) {
      case REPLIED -> clientRequests.complete(content, principal);
      case CANCELLED -> cancellable.cancel(session, principal, content);
      case ENDED -> end(session, principal);
      case WATCHED -> change(session, principal, state -> state.watch(content.asText()));
      case UNWATCHED -> change(session, principal, state -> state.watched.remove(content.asText()));
      case LEVEL ->
          change(session, principal, state -> state.level = level(content.asText(), state));
      default -> {} // of another release
    }
  }

  private void end(String session, String principal) {
    try {
      sessions.end(session, principal);
    } catch (RpcException e) {
      // It has ended here, too.
    }
  }

  private void change(String session, String principal, Consumer<ClientState> change) {
    try {
      change.accept(sessions.require(session, principal));
    } catch (RpcException e) {
      // It has ended meanwhile, or watches as many resources as it may.
    }
  }

  private static McpLevel level(String text, ClientState state) {
    McpLevel level = McpLevel.of(text);
    return level == null ? state.level : level;
  }
}

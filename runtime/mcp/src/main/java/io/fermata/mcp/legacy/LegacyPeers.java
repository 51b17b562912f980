package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.rpc.RpcException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The servers of the other hosts of a cluster. Any of them may get a client's next message, which
 * is about a request that is open on another one: they pass it to each other.
 */
final class LegacyPeers {
  private static final String REPLIED = "client-replied";

  /** Those of the token that came with a reply; without them, its caller may do everything. */
  private static final String SCOPES = "scopes";

  /** A client has cancelled a request that another server has. */
  static final String CANCELLED = "request-cancelled";

  static final String ENDED = "session-ended";

  /** The stream of the client, which notifies it of the resource, may be that of any server. */
  static final String WATCHED = "resource-watched";

  static final String UNWATCHED = "resource-unwatched";

  /** The messages of any server to the client are to have at least this level. */
  static final String LEVEL = "level-set";

  /** Takes a message about a session, which is empty for a reply of a client that has none. */
  @FunctionalInterface
  private interface Receiver {
    void accept(String session, String principal, JsonNode content);
  }

  private final PeerServers peers;
  private final McpSessions sessions;
  private final ClientRequests clientRequests;

  LegacyPeers(
      PeerServers peers,
      McpSessions sessions,
      ClientRequests clientRequests,
      CancellableRequests cancellable) {
    this.peers = peers;
    this.sessions = sessions;
    this.clientRequests = clientRequests;
    on(REPLIED, this::reply);
    on(CANCELLED, cancellable::cancel);
    on(ENDED, (session, principal, content) -> end(session, principal));
    onChange(WATCHED, (state, uri) -> state.watch(uri));
    onChange(UNWATCHED, (state, uri) -> state.unwatch(uri));
    onChange(LEVEL, (state, level) -> state.level = level(level, state));
  }

  private void on(String what, Receiver receiver) {
    peers.on(
        what,
        message ->
            receiver.accept(
                message.path("session").asText(""),
                message.path("principal").asText(),
                message.path("content")));
  }

  private void onChange(String what, BiConsumer<ClientState, String> change) {
    on(
        what,
        (session, principal, content) ->
            change(session, principal, state -> change.accept(state, content.asText())));
  }

  /** A client has replied to a question of another server. */
  void replied(JsonNode response, AuthenticatedCaller caller, @Nullable String session) {
    ObjectNode reply = Json.object();
    for (String member : List.of("id", "result", "error")) {
      if (response.has(member)) {
        reply.set(member, response.get(member));
      }
    }
    Set<String> scopes = caller.scopes();
    if (scopes != null) {
      scopes.forEach(reply.putArray(SCOPES)::add);
    }
    pass(REPLIED, caller.principal(), session, reply);
  }

  private void reply(String session, String principal, JsonNode content) {
    JsonNode scopes = content.get(SCOPES);
    Set<String> all = new HashSet<>();
    if (scopes != null) {
      scopes.forEach(scope -> all.add(scope.asText()));
    }
    try {
      clientRequests.complete(
          content,
          AuthenticatedCaller.checked(principal, scopes == null ? null : all),
          session.isEmpty() ? null : session);
    } catch (RpcException e) {
      // The question stays open for who may reply to it.
    }
  }

  /** What a client has changed holds for its session on every server, if it has one. */
  void changed(String what, McpRequest request, String value) {
    String session = request.session();
    if (session != null) {
      pass(what, request.principal(), session, TextNode.valueOf(value));
    }
  }

  void pass(String what, String principal, @Nullable String session, JsonNode content) {
    ObjectNode message = Json.object().put("principal", principal).put("session", session);
    peers.pass(what, message.set("content", content));
  }

  private void end(String session, String principal) {
    try {
      sessions.end(session, principal);
    } catch (RpcException e) {
      // It has ended here, too.
    }
    // Afterwards, as nothing more is asked in it then.
    clientRequests.end(session, principal);
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

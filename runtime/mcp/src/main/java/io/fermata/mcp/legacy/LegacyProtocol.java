package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.http.RequestExchange;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.LegacyEra;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import java.io.IOException;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The revisions from 2025-03-26 to 2025-11-25. */
public final class LegacyProtocol implements LegacyEra {
  /** The maximum size of a client's capabilities, in bytes of JSON. */
  private static final int MAX_CAPABILITIES = 8_192;

  /** In place of a session, for the batches of a connection. */
  private static final String CONNECTION = "";

  /** The longest id of a request that can be cancelled. */
  private static final int LONGEST_ID = 256;

  private final McpSessions sessions;
  private final ClientRequests clientRequests;
  private final Subscriptions subscriptions;
  private final RequestGate gate;
  private final CallQuotas quotas;
  private final Function<Revision, ObjectNode> welcome;
  private final CancellableRequests cancellable;
  private final LegacyPeers peers;
  private final Map<String, RpcMethod> methods =
      Map.of(
          "ping", RpcMethod.immediate(request -> ResultWriter.EMPTY),
          "resources/subscribe", RpcMethod.immediate(this::subscribe),
          "resources/unsubscribe", RpcMethod.immediate(this::unsubscribe),
          "logging/setLevel", RpcMethod.immediate(this::level));

  /**
   * @param welcome the result of {@code initialize} for the agreed revision
   */
  public LegacyProtocol(
      ToolHost host,
      PeerServers peers,
      Subscriptions subscriptions,
      RequestGate gate,
      CallQuotas quotas,
      Function<Revision, ObjectNode> welcome) {
    this.sessions = new McpSessions(host, System::nanoTime, quotas.limits().sessions());
    this.clientRequests =
        new ClientRequests(host.handles(), ClientRequests.TIMEOUT, quotas.limits().openQuestions());
    this.subscriptions = subscriptions;
    this.gate = gate;
    this.quotas = quotas;
    this.welcome = welcome;
    this.cancellable = new CancellableRequests();
    this.peers = new LegacyPeers(peers, sessions, clientRequests, cancellable);
  }

  McpSessions sessions() {
    return sessions;
  }

  void end(String session, String principal) {
    sessions.end(session, principal);
    clientRequests.end(session, principal);
    peers.pass(LegacyPeers.ENDED, principal, session, NullNode.getInstance());
  }

  // --- the handshake ---------------------------------------------------------------------------

  @Override
  public Response initialize(RpcMessage message, MessageSource arrival) throws IOException {
    if (gate.closed()) {
      throw RpcException.shuttingDown();
    }
    String requested = JsonRpcCodec.text(message.params(), "protocolVersion");
    if (requested == null) {
      throw RpcException.invalidParams("The parameter protocolVersion must be a string.");
    }
    JsonNode capabilities = message.params().path("capabilities");
    if (JsonRpcCodec.bytes(capabilities).length > MAX_CAPABILITIES) {
      throw RpcException.invalidParams(
          "The parameter capabilities must have at most %s bytes.".formatted(MAX_CAPABILITIES));
    }
    Revision known = Revision.of(requested);
    Revision agreed = known == null || known.modern() ? Revision.LATEST_LEGACY : known;
    ObjectNode result = welcome.apply(agreed);
    Response answer =
        Response.of(200, JsonRpcCodec.result(message.id(), out -> out.writeTree(result)));
    if (arrival instanceof MessageSource.Connection line) {
      connect(line, agreed, ClientState.declaring(capabilities));
      return answer;
    }
    return answer.with(RequestExchange.SESSION, sessions.open(arrival.principal(), capabilities));
  }

  /** The state of the client that opens the stream of its session, kept until that ends. */
  ClientState listening(String session, AuthenticatedCaller caller, CompletableFuture<Void> ended) {
    return sessions.listening(session, caller.principal(), ended);
  }

  /** A connection has one client at a time: the latest handshake counts. */
  private void connect(MessageSource.Connection line, Revision agreed, ClientState peer) {
    LegacyClient client = client(null, peer);
    if (line.negotiated(agreed, client) instanceof LegacyClient before) {
      before.replaced().complete(null);
    }
    listen(peer, line.caller(), line.queue(), client.replaced());
  }

  private LegacyClient client(@Nullable String session, ClientState peer) {
    return new LegacyClient(session, peer, this::ask, new CompletableFuture<>());
  }

  /** Nobody could reply in a session that has ended since its request began. */
  private CompletionStage<ObjectNode> ask(
      Map<String, McpAsk> asks, Client.Asker asker, OutboundQueue queue) {
    String session = asker.session();
    if (session == null) {
      return clientRequests.ask(asks, asker, queue);
    }
    String principal = asker.caller().principal();
    sessions.require(session, principal);
    CompletionStage<ObjectNode> replies = clientRequests.ask(asks, asker, queue);
    cancelIfDeleted(session, principal);
    return replies;
  }

  /** What deleted the session may have looked for its questions before there was this one. */
  private void cancelIfDeleted(String session, String principal) {
    try {
      sessions.requireNotDeleted(session, principal);
    } catch (RpcException deleted) {
      clientRequests.end(session, principal);
    }
  }

  @Override
  public Client client(MessageSource arrival) {
    if (arrival instanceof MessageSource.Post post) {
      String session = post.session();
      return client(
          session,
          session == null ? ClientState.UNKNOWN : sessions.require(session, post.principal()));
    }
    Client negotiated = ((MessageSource.Connection) arrival).client();
    return negotiated == null ? client(null, ClientState.UNKNOWN) : negotiated;
  }

  /**
   * Notifies the client of all changes, until it disconnects or {@code ended} completes.
   *
   * @throws RpcException if the principal has too many streams already
   */
  void listen(
      ClientState peer,
      AuthenticatedCaller caller,
      OutboundQueue queue,
      CompletableFuture<Void> ended) {
    subscriptions.add(
        new Subscriptions.Subscription(
            null, EnumSet.allOf(Subscriptions.Kind.class), peer.watched, queue, ended),
        caller,
        () -> {});
  }

  // --- messages --------------------------------------------------------------------------------

  @Override
  public void response(JsonNode response, MessageSource arrival) {
    String session = undeleted(arrival);
    if (clientRequests.isElsewhere(response, arrival.caller(), session)) {
      peers.replied(response, arrival.caller(), session);
    } else {
      clientRequests.complete(response, arrival.caller(), session);
    }
  }

  /** The session that a message names, which its client has not ended; null if it names none. */
  private @Nullable String undeleted(MessageSource arrival) {
    String session = arrival instanceof MessageSource.Post post ? post.session() : null;
    if (session != null) {
      sessions.requireNotDeleted(session, arrival.principal());
    }
    return session;
  }

  @Override
  public void notification(RpcMessage message, MessageSource arrival) {
    String named = undeleted(arrival);
    String session = arrival instanceof MessageSource.Post ? named : CONNECTION;
    JsonNode id = message.params().path("requestId");
    if (session == null
        || !message.method().equals("notifications/cancelled")
        || !isPassable(id)
        || cancellable.cancel(session, arrival.principal(), id)) {
      return;
    }
    if (arrival instanceof MessageSource.Post) {
      peers.pass(LegacyPeers.CANCELLED, arrival.principal(), session, id);
    }
  }

  /** An id that no request should have is not passed on to other servers. */
  private static boolean isPassable(JsonNode id) {
    return RpcMessage.usable(id) && id.asText().length() <= LONGEST_ID;
  }

  @Override
  public CompletionStage<RpcResult> orCancelled(
      McpRequest request, Supplier<CompletionStage<RpcResult>> answering) {
    String session = isBatched(request) ? CONNECTION : request.session();
    return session == null
        ? answering.get()
        : cancellable.orCancelled(
            session,
            request,
            () -> sessions.inFlight(answering.get(), session, request.principal()));
  }

  /** A connection itself cancels what is in no batch. */
  private static boolean isBatched(McpRequest request) {
    return request.connection() && request.progress() == null;
  }

  @Override
  public CompletionStage<Response> batch(
      JsonNode messages,
      MessageSource arrival,
      Function<JsonNode, CompletionStage<Response>> each) {
    return Batches.answer(messages, arrival, quotas, each);
  }

  // --- methods ---------------------------------------------------------------------------------

  @Override
  public @Nullable RpcMethod method(String name) {
    return methods.get(name);
  }

  /** What a client chooses is kept for its session or connection. */
  private static ClientState peer(McpRequest request) {
    ClientState state = ((LegacyClient) request.client()).state();
    if (state == ClientState.UNKNOWN) {
      throw RpcException.sessionGone();
    }
    return state;
  }

  private RpcResult subscribe(McpRequest request) {
    String uri = Subscriptions.watchable(request.text("uri"));
    peer(request).watch(uri);
    peers.changed(LegacyPeers.WATCHED, request, uri);
    return ResultWriter.EMPTY;
  }

  private RpcResult unsubscribe(McpRequest request) {
    String uri = Subscriptions.watchable(request.text("uri"));
    peer(request).unwatch(uri);
    peers.changed(LegacyPeers.UNWATCHED, request, uri);
    return ResultWriter.EMPTY;
  }

  private RpcResult level(McpRequest request) {
    McpLevel level = McpLevel.of(request.text("level"));
    if (level == null) {
      throw RpcException.invalidParams("The parameter level must be one of debug to emergency.");
    }
    peer(request).level = level;
    peers.changed(LegacyPeers.LEVEL, request, level.text);
    return ResultWriter.EMPTY;
  }
}

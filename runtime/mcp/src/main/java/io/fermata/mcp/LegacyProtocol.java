package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolHost;
import java.io.IOException;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The revisions from 2025-03-26 to 2025-11-25. */
final class LegacyProtocol implements LegacyEra {
  /** How much of what a client declares is kept, in bytes of JSON. */
  private static final int MAX_CAPABILITIES = 8_192;

  private final Sessions sessions;
  private final Inquiries inquiries;
  private final Subscriptions subscriptions;
  private final Gate gate;
  private final Quotas quotas;
  private final Function<Revision, ObjectNode> welcome;
  private final UnderWay underWay = new UnderWay();
  private final Map<String, Method> methods =
      Map.of(
          "ping", Method.atOnce(request -> Results.EMPTY),
          "resources/subscribe", Method.atOnce(LegacyProtocol::subscribe),
          "resources/unsubscribe", Method.atOnce(LegacyProtocol::unsubscribe),
          "logging/setLevel", Method.atOnce(LegacyProtocol::level));

  /**
   * @param welcome the result of {@code initialize} for the agreed revision
   */
  private LegacyProtocol(
      Sessions sessions,
      Inquiries inquiries,
      Subscriptions subscriptions,
      Gate gate,
      Quotas quotas,
      Function<Revision, ObjectNode> welcome) {
    this.sessions = sessions;
    this.inquiries = inquiries;
    this.subscriptions = subscriptions;
    this.gate = gate;
    this.quotas = quotas;
    this.welcome = welcome;
  }

  static LegacyProtocol of(
      ToolHost host,
      Subscriptions subscriptions,
      Gate gate,
      Quotas quotas,
      Function<Revision, ObjectNode> welcome) {
    return new LegacyProtocol(
        new Sessions(host, System::nanoTime, quotas.limits().sessions()),
        new Inquiries(Inquiries.PATIENCE, quotas.limits().openQuestions()),
        subscriptions,
        gate,
        quotas,
        welcome);
  }

  Sessions sessions() {
    return sessions;
  }

  // --- the handshake ---------------------------------------------------------------------------

  @Override
  public Answer initialize(Message message, Arrival arrival) throws IOException {
    if (gate.closed()) {
      throw Refusal.shuttingDown();
    }
    String requested = Wire.text(message.params(), "protocolVersion");
    if (requested == null) {
      throw Refusal.params("The parameter protocolVersion must be a string.");
    }
    JsonNode capabilities = message.params().path("capabilities");
    if (Wire.bytes(capabilities).length > MAX_CAPABILITIES) {
      throw Refusal.params(
          "The parameter capabilities must have at most %d bytes.".formatted(MAX_CAPABILITIES));
    }
    Revision known = Revision.of(requested);
    Revision agreed = known == null || known.modern() ? Revision.LATEST_LEGACY : known;
    ObjectNode result = welcome.apply(agreed);
    Answer answer = Answer.of(200, Wire.result(message.id(), out -> out.writeTree(result)));
    if (arrival instanceof Arrival.Line line) {
      connect(line, agreed, Peer.declaring(capabilities));
      return answer;
    }
    return answer.with(Exchange.SESSION, sessions.open(arrival.principal(), capabilities));
  }

  /** A stream is one client at a time: the latest handshake counts. */
  private void connect(Arrival.Line line, Revision agreed, Peer peer) {
    LegacyClient client = client(null, peer);
    if (line.negotiated(agreed, client) instanceof LegacyClient before) {
      before.replaced().complete(null);
    }
    listen(peer, line.caller(), line.way(), client.replaced());
  }

  private LegacyClient client(@Nullable String session, Peer peer) {
    return new LegacyClient(session, peer, inquiries::ask, new CompletableFuture<>());
  }

  @Override
  public Client client(Arrival arrival) {
    if (arrival instanceof Arrival.Post post) {
      String session = post.session();
      return client(
          session, session == null ? Peer.unknown() : sessions.require(session, post.principal()));
    }
    Client negotiated = ((Arrival.Line) arrival).client();
    return negotiated == null ? client(null, Peer.unknown()) : negotiated;
  }

  /**
   * Notifies the client of all changes, until it disconnects or {@code ended} completes.
   *
   * @throws Refusal if the principal has as many streams as it may
   */
  void listen(Peer peer, Caller caller, Progress way, CompletableFuture<Void> ended) {
    subscriptions.add(
        new Subscriptions.Subscription(
            null, EnumSet.allOf(Subscriptions.Kind.class), peer.watched, way, ended),
        caller,
        () -> {});
  }

  // --- messages --------------------------------------------------------------------------------

  @Override
  public void response(JsonNode response, Arrival arrival) {
    inquiries.answered(response, arrival.principal());
  }

  @Override
  public void notification(Message message, Arrival.Post post) {
    client(post);
    if (post.session() != null && message.method().equals("notifications/cancelled")) {
      underWay.cancel(post.session(), post.principal(), message.params().path("requestId"));
    }
  }

  @Override
  public CompletionStage<Result> orCancelled(Request request, CompletionStage<Result> answer) {
    String session = request.session();
    return session == null ? answer : underWay.orCancelled(session, request, answer);
  }

  @Override
  public CompletionStage<Answer> batch(
      JsonNode messages, Arrival arrival, Function<JsonNode, CompletionStage<Answer>> each) {
    return Batches.answer(messages, arrival, quotas, each);
  }

  // --- methods ---------------------------------------------------------------------------------

  @Override
  public @Nullable Method method(String name) {
    return methods.get(name);
  }

  private static Peer peer(Request request) {
    return ((LegacyClient) request.client()).peer();
  }

  private static Result subscribe(Request request) {
    Set<String> watched = peer(request).watched;
    String uri = Subscriptions.watchable(request.text("uri"));
    Set<String> more = new TreeSet<>(watched);
    more.add(uri);
    Subscriptions.requireRoom(more);
    watched.add(uri);
    return Results.EMPTY;
  }

  private static Result unsubscribe(Request request) {
    peer(request).watched.remove(request.text("uri"));
    return Results.EMPTY;
  }

  private static Result level(Request request) {
    McpLevel level = McpLevel.of(request.text("level"));
    if (level == null) {
      throw Refusal.params("The parameter level must be one of debug to emergency.");
    }
    peer(request).level = level;
    return Results.EMPTY;
  }
}

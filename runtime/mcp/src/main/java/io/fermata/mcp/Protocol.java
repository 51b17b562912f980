package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.Telemetry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The core that all transports share: takes the bytes of a message and what its transport knows,
 * and yields the answer. It waits for nothing; an answer may complete on a thread of the host.
 */
final class Protocol {
  private static final Logger LOG = LoggerFactory.getLogger(Protocol.class);
  private static final int MAX_BATCH = 50;

  /** What telemetry is told of requests that do not come as far as their method. */
  private static final String UNKNOWN = "unknown";

  /** How much of what a client declares is kept, in bytes of JSON. */
  private static final int MAX_CAPABILITIES = 8_192;

  /** Modern clients say everything in every request, so that nothing is kept of them. */
  private static final Peer NOBODY = Peer.unknown();

  private final Methods methods;
  private final Sessions sessions;
  private final Inquiries inquiries;
  private final Quotas quotas;
  private final Gate gate;
  private final Telemetry telemetry;
  private final UnderWay underWay = new UnderWay();
  private final Replays replays = new Replays();
  private final Eras eras;

  Protocol(
      Methods methods,
      Sessions sessions,
      Inquiries inquiries,
      Quotas quotas,
      Gate gate,
      Telemetry telemetry) {
    this.methods = methods;
    this.sessions = sessions;
    this.inquiries = inquiries;
    this.quotas = quotas;
    this.gate = gate;
    this.telemetry = telemetry;
    this.eras = new Eras(methods);
  }

  /**
   * Answers a message. The stage never fails.
   *
   * @param progress takes what happens until then; null if the client could not be told
   */
  CompletionStage<Answer> answer(byte[] bytes, Arrival arrival, @Nullable Progress progress) {
    JsonNode tree;
    try {
      tree = Wire.read(bytes);
    } catch (Refusal refusal) {
      return now(Answer.refused(unknownId(arrival), refusal));
    }
    return answer(tree, arrival, progress);
  }

  /** Answers a message that has been read. The stage never fails. */
  CompletionStage<Answer> answer(JsonNode tree, Arrival arrival, @Nullable Progress progress) {
    return tree.isArray() ? batch(tree, arrival) : single(tree, arrival, false, progress);
  }

  /** What an error says in place of the id that it cannot know. */
  private static JsonNode unknownId(Arrival arrival) {
    // JSON-RPC wants null, which streams keep to; MCP's HTTP transport wants no id at all.
    return arrival instanceof Arrival.Line ? NullNode.getInstance() : MissingNode.getInstance();
  }

  private CompletionStage<Answer> single(
      JsonNode tree, Arrival arrival, boolean batched, @Nullable Progress progress) {
    JsonNode id = Message.idOf(tree, unknownId(arrival));
    long begun = telemetry == Telemetry.NONE ? 0 : System.nanoTime();
    try {
      if (Message.isResponse(tree)) {
        return now(response(tree, arrival));
      }
      Message message = Message.of(tree);
      if (message.notification()) {
        return now(notification(message, arrival));
      }
      if (message.method().equals("initialize") && !Eras.declaresVersion(message)) {
        return now(handshake(message, arrival, batched));
      }
      return call(message, arrival, progress, begun);
    } catch (Refusal refusal) {
      tell(UNKNOWN, begun, refusal);
      return now(Answer.refused(id, refusal));
    } catch (RuntimeException | IOException e) {
      return now(failed(id, e));
    }
  }

  /** Only clients of the older era are sent requests, so only they respond. */
  private Answer response(JsonNode response, Arrival arrival) {
    if (arrival instanceof Arrival.Post post && Eras.modernHeader(post)) {
      throw Refusal.invalid("Send requests and notifications only: responses are not expected.");
    }
    inquiries.answered(response, arrival.principal());
    return Answer.ACCEPTED;
  }

  private Answer notification(Message message, Arrival arrival) {
    if (arrival instanceof Arrival.Post post) {
      Revision revision = eras.ofNotification(message, post);
      peer(post, revision);
      if (!revision.modern()
          && post.session() != null
          && message.method().equals("notifications/cancelled")) {
        underWay.cancel(post.session(), post.principal(), message.params().path("requestId"));
      }
    }
    return Answer.ACCEPTED;
  }

  private Answer handshake(Message message, Arrival arrival, boolean batched) throws IOException {
    if (batched) {
      throw Refusal.invalid("The request initialize must not be part of a batch.");
    }
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
    ObjectNode welcome = methods.welcome(agreed);
    Answer answer = Answer.of(200, Wire.result(message.id(), out -> out.writeTree(welcome)));
    if (arrival instanceof Arrival.Line line) {
      Peer peer = Peer.declaring(capabilities);
      CompletableFuture<Void> ended = line.negotiated(agreed, peer);
      methods.listening().attach(peer, line.caller(), line.way(), ended);
      return answer;
    }
    return answer.with(Exchange.SESSION, sessions.open(arrival.principal(), capabilities));
  }

  private CompletionStage<Answer> call(
      Message message, Arrival arrival, @Nullable Progress progress, long begun) {
    Revision revision = eras.of(message, arrival);
    Peer peer = peer(arrival, revision);
    String session =
        arrival instanceof Arrival.Post post && !revision.modern() ? post.session() : null;
    Method method = methods.named(message.method(), revision);
    Request request =
        new Request(
            message.id(),
            revision,
            arrival.caller(),
            session,
            peer,
            message.params(),
            Traces.of(message.meta(), arrival),
            progress);
    CompletionStage<Result> answer = inside(method, request, message.method().equals("ping"));
    return (session == null ? answer : underWay.orCancelled(session, request, answer))
        .handle(
            (result, failure) -> {
              tell(message.method(), begun, failure);
              return answered(message.id(), result, failure);
            });
  }

  /** Whether a client is still there may be asked to the end. */
  private CompletionStage<Result> inside(Method method, Request request, boolean ping) {
    if (ping) {
      return method.answer(request);
    }
    gate.enter();
    CompletionStage<Result> answer;
    try {
      answer = method.answer(request);
    } catch (RuntimeException | Error e) {
      answer = CompletableFuture.failedFuture(e);
    }
    return gate.untilTheEnd(answer).whenComplete((result, failure) -> gate.leave());
  }

  private void tell(String method, long begun, @Nullable Throwable failure) {
    if (telemetry != Telemetry.NONE) {
      String outcome =
          failure == null ? "ok" : cause(failure) instanceof Refusal ? "refused" : "failed";
      telemetry.requested(method, outcome, System.nanoTime() - begun);
    }
  }

  private static @Nullable Throwable cause(@Nullable Throwable failure) {
    return failure instanceof CompletionException ? failure.getCause() : failure;
  }

  private Peer peer(Arrival arrival, Revision revision) {
    if (revision.modern()) {
      return NOBODY;
    } else if (arrival instanceof Arrival.Post post) {
      return post.session() == null
          ? Peer.unknown()
          : sessions.require(post.session(), post.principal());
    }
    return ((Arrival.Line) arrival).peer();
  }

  /**
   * Has the client of a session told of changes.
   *
   * @param ended completes when the server ends it
   * @throws Refusal if the session is none of this server's, or has ended
   */
  void listen(String session, Caller caller, Progress way, CompletableFuture<Void> ended) {
    methods.listening().attach(sessions.require(session, caller.principal()), caller, way, ended);
  }

  /**
   * Begins to keep a stream of a session, given what to do when its client is lost; null if there
   * is no room for it.
   */
  @Nullable Replay kept(String session, String principal, Runnable lost) {
    return replays.open(session, principal, lost);
  }

  /**
   * Where a client that has come back takes a stream of its session up.
   *
   * @throws Refusal if the session or the stream is none of this server's, or is over
   */
  Resumption.Point resumed(String session, String principal, String lastEvent) {
    sessions.require(session, principal);
    return replays.find(session, principal, lastEvent);
  }

  private static Answer answered(
      JsonNode id, @Nullable Result result, @Nullable Throwable failure) {
    if (result == null) {
      return failed(id, failure);
    }
    try {
      return Answer.of(200, Wire.result(id, result));
    } catch (IOException | RuntimeException e) {
      return failed(id, e);
    }
  }

  private static Answer failed(JsonNode id, @Nullable Throwable failure) {
    Throwable cause = cause(failure);
    if (cause instanceof Refusal refusal) {
      return Answer.refused(id, refusal);
    }
    LOG.error("A request failed inside the server", cause);
    return Answer.refused(id, Refusal.internal());
  }

  private CompletionStage<Answer> batch(JsonNode tree, Arrival arrival) {
    try {
      requireBatch(tree, arrival);
    } catch (Refusal refusal) {
      return now(Answer.refused(unknownId(arrival), refusal));
    }
    List<CompletableFuture<Answer>> answers = new ArrayList<>(tree.size());
    for (JsonNode element : tree) {
      answers.add(single(element, arrival, true, null).toCompletableFuture());
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
        .thenApply(all -> joined(answers.stream().map(CompletableFuture::join).toList()));
  }

  private void requireBatch(JsonNode tree, Arrival arrival) {
    if (!eras.ofBatch(arrival).batches()) {
      throw Refusal.invalid(
          "Batches exist in revision 2025-03-26 only: send each message on its own.");
    }
    if (tree.isEmpty() || tree.size() > MAX_BATCH) {
      throw Refusal.invalid("A batch must have 1 to " + MAX_BATCH + " messages.");
    }
    // The first was counted as it arrived.
    quotas.arrived(arrival.principal(), tree.size() - 1);
  }

  private static Answer joined(List<Answer> answers) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (Answer answer : answers) {
      if (answer.body != null) {
        all.write(all.size() == 0 ? '[' : ',');
        all.writeBytes(answer.body);
      }
    }
    if (all.size() == 0) {
      return Answer.ACCEPTED;
    }
    all.write(']');
    return Answer.of(200, all.toByteArray());
  }

  private static CompletionStage<Answer> now(Answer answer) {
    return CompletableFuture.completedFuture(answer);
  }
}

package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.MissingNode;
import io.vertx.core.Context;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One HTTP request: reads the body up to its limit, has it answered, and writes the response. */
final class Exchange {
  static final CharSequence VERSION = HttpHeaders.createOptimized("mcp-protocol-version");
  private static final CharSequence METHOD = HttpHeaders.createOptimized("mcp-method");
  private static final CharSequence NAME = HttpHeaders.createOptimized("mcp-name");
  static final CharSequence SESSION = HttpHeaders.createOptimized("mcp-session-id");
  private static final long LINGER_MILLIS = 500;
  private static final CharSequence CLOSE = HttpHeaders.createOptimized("close");

  private final HttpServerRequest request;
  private final Function<byte[], CompletionStage<Answer>> answering;
  private final Function<Refusal, Answer> refusing;

  /** What the response may become; null if the client takes plain JSON only. */
  private final @Nullable EventStream stream;

  /** The only context in which the response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private @Nullable Refusal refusal;

  /** The body so far: the only chunk, as most bodies have, or a buffer of several. */
  private @Nullable Buffer body;

  private boolean gathering;
  private long received;

  private Exchange(
      HttpServerRequest request,
      @Nullable EventStream stream,
      Function<byte[], CompletionStage<Answer>> answering,
      Function<Refusal, Answer> refusing,
      @Nullable Refusal refusal) {
    this.request = request;
    this.stream = stream;
    this.answering = answering;
    this.refusing = refusing;
    this.refusal = refusal;
  }

  /**
   * Has an MCP request answered.
   *
   * @param stream what the response may become; null if the client takes plain JSON only
   */
  static void answer(
      HttpServerRequest request, Protocol protocol, Caller caller, @Nullable EventStream stream) {
    Progress progress = stream == null ? null : stream.progress();
    new Exchange(
            request,
            stream,
            bytes -> protocol.answer(bytes, arrival(request, caller), progress),
            Exchange::refused,
            null)
        .begin();
  }

  /**
   * Has a request answered.
   *
   * @param answering is given the body; its stage never fails
   * @param refusing says how a refusal is written
   */
  static void answer(
      HttpServerRequest request,
      Function<byte[], CompletionStage<Answer>> answering,
      Function<Refusal, Answer> refusing) {
    new Exchange(request, null, answering, refusing, null).begin();
  }

  /** Rejects a request such that its sender can read the response. */
  static void refuse(
      HttpServerRequest request, Refusal refusal, Function<Refusal, Answer> refusing) {
    new Exchange(request, null, bytes -> CompletableFuture.failedFuture(refusal), refusing, refusal)
        .begin();
  }

  /** A refusal as MCP has it. */
  static Answer refused(Refusal refusal) {
    return Answer.refused(MissingNode.getInstance(), refusal);
  }

  /** The refusal of a request to the endpoint of MCP that is no POST. */
  static Refusal notPosted(HttpServerRequest request, String reason) {
    request.response().putHeader(HttpHeaders.ALLOW, "GET, POST, DELETE");
    return Refusal.transport(405, reason);
  }

  private void begin() {
    if (refusal == null && declaredLength() > Wire.MAX_BYTES) {
      refusal = tooLong();
    }
    if (request.headers().contains(HttpHeaders.EXPECT)) {
      if (refusal != null) {
        cut(refusal);
        return;
      }
      request.response().writeContinue();
    }
    // A client that disconnects needs no response.
    request.exceptionHandler(gone -> {});
    request.handler(this::take);
    request.endHandler(end -> finish());
  }

  private long declaredLength() {
    String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
    try {
      return length == null ? 0 : Long.parseLong(length);
    } catch (NumberFormatException e) {
      return Long.MAX_VALUE;
    }
  }

  private void take(Buffer chunk) {
    received += chunk.length();
    if (refusal == null && received > Wire.MAX_BYTES) {
      refusal = tooLong();
      body = null;
    }
    if (refusal == null) {
      keep(chunk);
    } else if (received > HttpLimits.MAX_DISCARDED) {
      cut(refusal);
    }
  }

  private void keep(Buffer chunk) {
    if (body == null) {
      body = chunk;
    } else if (gathering) {
      body.appendBuffer(chunk);
    } else {
      body = Buffer.buffer(4 * chunk.length()).appendBuffer(body).appendBuffer(chunk);
      gathering = true;
    }
  }

  private static Refusal tooLong() {
    return Refusal.transport(413, "The body is longer than " + Wire.MAX_BYTES + " bytes.");
  }

  private void finish() {
    if (refusal != null) {
      write(refusing.apply(refusal));
      return;
    }
    byte[] bytes = body == null ? new byte[0] : body.getBytes();
    body = null;
    answering
        .apply(bytes)
        .whenComplete(
            (answer, never) -> {
              if (Vertx.currentContext() == context) {
                write(answer);
              } else {
                context.runOnContext(home -> write(answer));
              }
            });
  }

  private static Arrival arrival(HttpServerRequest request, Caller caller) {
    MultiMap headers = request.headers();
    return new Arrival.Post(
        caller,
        only(headers, VERSION),
        only(headers, METHOD),
        only(headers, NAME),
        headers.get(SESSION),
        name -> only(headers, name));
  }

  /** A repeated header is joined, so that it equals neither value and cannot be read two ways. */
  private static @Nullable String only(MultiMap headers, CharSequence name) {
    List<String> all = headers.getAll(name);
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.get(0);
      default -> String.join(", ", all);
    };
  }

  private void write(Answer answer) {
    HttpServerResponse response = request.response();
    if (answer == Answer.TAKEN_OVER
        || (stream != null && answer.body != null && stream.ended(answer.body))
        || response.ended()
        || response.closed()) {
      return;
    }
    response.setStatusCode(answer.status);
    answer.headers.forEach(response::putHeader);
    if (answer.body == null) {
      response.end();
    } else {
      response.end(Buffer.buffer(answer.body));
    }
  }

  /** Responds before the end of the body; the connection cannot be used again. */
  private void cut(Refusal why) {
    HttpServerResponse response = request.response();
    if (response.ended() || response.closed()) {
      return;
    }
    response.putHeader(HttpHeaders.CONNECTION, CLOSE);
    write(refusing.apply(why));
    // Closed at once, a connection with unread input is reset, and the response may be lost.
    context.owner().setTimer(LINGER_MILLIS, late -> request.connection().close());
  }
}

package io.fermata.mcp.http;

import com.fasterxml.jackson.databind.node.MissingNode;
import io.fermata.mcp.access.ArrivingBody;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.dispatch.McpDispatcher;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One HTTP request: reads the body up to its limit, requests an answer, and writes the response.
 */
public final class RequestExchange {
  public static final CharSequence VERSION = HttpHeaders.createOptimized("mcp-protocol-version");
  private static final CharSequence METHOD = HttpHeaders.createOptimized("mcp-method");
  private static final CharSequence NAME = HttpHeaders.createOptimized("mcp-name");
  public static final CharSequence SESSION = HttpHeaders.createOptimized("mcp-session-id");
  private static final CharSequence CLOSE = HttpHeaders.createOptimized("close");

  private final HttpServerRequest request;
  private final Function<byte[], CompletionStage<Response>> answering;
  private final Function<RpcException, Response> refusing;

  /** What the response may become; null if the client accepts plain JSON only. */
  private final @Nullable SseResponse stream;

  /** The only context in which the response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  /** What counts the body for its principal; null if the body is discarded. */
  private final @Nullable ArrivingBody counted;

  private @Nullable RpcException refusal;

  /** The body so far: the only chunk, as most bodies have, or a buffer of several. */
  private @Nullable Buffer body;

  private boolean gathering;
  private long received;

  private RequestExchange(
      HttpServerRequest request,
      @Nullable ArrivingBody counted,
      @Nullable SseResponse stream,
      Function<byte[], CompletionStage<Response>> answering,
      Function<RpcException, Response> refusing,
      @Nullable RpcException refusal) {
    this.request = request;
    this.counted = counted;
    this.stream = stream;
    this.answering = answering;
    this.refusing = refusing;
    this.refusal = refusal;
  }

  /**
   * Answers an MCP request.
   *
   * @param body counts the body for the caller
   * @param arrived called as soon as the body is there
   * @param stream what the response may become; null if the client accepts plain JSON only
   * @param cancels whether the client cancels what it has asked for by disconnecting
   */
  static void answer(
      HttpServerRequest request,
      ArrivingBody body,
      Runnable arrived,
      McpDispatcher protocol,
      AuthenticatedCaller caller,
      @Nullable SseResponse stream,
      boolean cancels) {
    OutboundQueue progress = stream == null ? null : stream.progress();
    CompletionStage<?> gone = cancels ? gone(request, progress) : null;
    new RequestExchange(
            request,
            body,
            stream,
            bytes -> {
              arrived.run();
              return protocol.answer(bytes, arrival(request, caller, gone), progress);
            },
            RequestExchange::errorResponse,
            null)
        .begin();
  }

  /**
   * Answers a request.
   *
   * @param body counts the body for the caller
   * @param answering takes the body; its stage never fails
   * @param refusing converts a refusal to a response
   */
  static void answer(
      HttpServerRequest request,
      ArrivingBody body,
      Function<byte[], CompletionStage<Response>> answering,
      Function<RpcException, Response> refusing) {
    new RequestExchange(request, body, null, answering, refusing, null).begin();
  }

  /**
   * Answers a request whose body, if it has one, is discarded.
   *
   * @param answering its stage never fails
   * @param refusing converts a refusal to a response
   */
  static void answer(
      HttpServerRequest request,
      Supplier<CompletionStage<Response>> answering,
      Function<RpcException, Response> refusing) {
    new RequestExchange(request, null, null, none -> answering.get(), refusing, null).begin();
  }

  /** Rejects a request such that its sender can read the response. */
  public static void refuse(
      HttpServerRequest request, RpcException refusal, Function<RpcException, Response> refusing) {
    refusing(request, refusal, refusing).begin();
  }

  private static RequestExchange refusing(
      HttpServerRequest request, RpcException refusal, Function<RpcException, Response> refusing) {
    return new RequestExchange(
        request, null, null, bytes -> CompletableFuture.failedFuture(refusal), refusing, refusal);
  }

  /** Rejects a request whose body does not arrive in time. */
  static void timeOut(HttpServerRequest request, Function<RpcException, Response> refusing) {
    // A body that ends after all must not be answered.
    request.handler(late -> {});
    request.endHandler(late -> {});
    RpcException late =
        RpcException.http(408, "The body did not arrive in time: send it faster, or less of it.");
    refusing(request, late, refusing).rejectEarly(late);
  }

  /** Rejects a request that is no HTTP, so that nothing after it can be read. */
  static void refuseUnreadable(
      HttpServerRequest request, Function<RpcException, Response> refusing) {
    RpcException why = unreadable(request.decoderResult().cause());
    refusing(request, why, refusing).rejectEarly(why);
  }

  private static RpcException unreadable(@Nullable Throwable cause) {
    if (cause instanceof TooLongHttpLineException) {
      return RpcException.http(
          414,
          "The request line exceeds %s bytes: send a shorter path or query."
              .formatted(HttpLimits.MAX_FIRST_LINE));
    } else if (cause instanceof TooLongHttpHeaderException) {
      return RpcException.http(
          431,
          "The headers exceed %s bytes: send fewer or shorter ones."
              .formatted(HttpLimits.MAX_HEADERS));
    }
    return RpcException.http(
        400,
        "The request is not valid HTTP/1.1: correct its first line or its headers, such as Content-Length and Transfer-Encoding.");
  }

  /** An MCP error response. */
  public static Response errorResponse(RpcException refusal) {
    return Response.error(MissingNode.getInstance(), refusal);
  }

  /** The refusal of a request to the MCP endpoint that is not a POST. */
  public static RpcException notPosted(HttpServerRequest request, String reason) {
    request.response().putHeader(HttpHeaders.ALLOW, "GET, POST, DELETE");
    return RpcException.http(405, reason);
  }

  private void begin() {
    if (refusal == null && declaredLength() > JsonRpcCodec.MAX_BYTES) {
      refusal = tooLong();
    }
    if (request.headers().contains(HttpHeaders.EXPECT)) {
      if (refusal != null) {
        rejectEarly(refusal);
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
    if (refusal != null) {
      if (received > HttpLimits.MAX_DISCARDED) {
        rejectEarly(refusal);
      }
      return;
    }
    try {
      keep(chunk);
    } catch (RpcException excessive) {
      refusal = excessive;
      forget();
    }
  }

  private void keep(Buffer chunk) {
    if (received > JsonRpcCodec.MAX_BYTES) {
      throw tooLong();
    } else if (counted == null) {
      return;
    }
    counted.add(chunk.length());
    if (body == null) {
      body = chunk;
    } else if (gathering) {
      body.appendBuffer(chunk);
    } else {
      body = Buffer.buffer(4 * chunk.length()).appendBuffer(body).appendBuffer(chunk);
      gathering = true;
    }
  }

  private void forget() {
    body = null;
    if (counted != null) {
      counted.end();
    }
  }

  private static RpcException tooLong() {
    return RpcException.http(
        413, "The body exceeds " + JsonRpcCodec.MAX_BYTES + " bytes: send a shorter one.");
  }

  private void finish() {
    if (refusal != null) {
      write(refusing.apply(refusal));
      return;
    }
    byte[] bytes = body == null ? new byte[0] : body.getBytes();
    forget();
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

  /** The revision that a request names in its header; null if none. */
  public static @Nullable String version(HttpServerRequest request) {
    return only(request.headers(), VERSION);
  }

  private static CompletionStage<?> gone(
      HttpServerRequest request, @Nullable OutboundQueue progress) {
    CompletableFuture<Boolean> gone = new CompletableFuture<>();
    if (progress == null) {
      request.response().closeHandler(closed -> gone.complete(true));
    } else {
      progress.onDisconnect(() -> gone.complete(true));
    }
    return gone;
  }

  private static MessageSource arrival(
      HttpServerRequest request, AuthenticatedCaller caller, @Nullable CompletionStage<?> gone) {
    MultiMap headers = request.headers();
    return new MessageSource.Post(
        caller,
        only(headers, VERSION),
        only(headers, METHOD),
        only(headers, NAME),
        headers.get(SESSION),
        name -> only(headers, name),
        gone);
  }

  /**
   * A repeated header is joined, so that it equals neither value and cannot be read in two ways.
   */
  private static @Nullable String only(MultiMap headers, CharSequence name) {
    List<String> all = headers.getAll(name);
    return switch (all.size()) {
      case 0 -> null;
      case 1 -> all.get(0);
      default -> String.join(", ", all);
    };
  }

  private void write(Response answer) {
    HttpServerResponse response = request.response();
    if (answer == Response.TAKEN_OVER
        || (stream != null && answer.body != null && stream.endedWith(answer.body))
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
  private void rejectEarly(RpcException why) {
    HttpServerResponse response = request.response();
    if (!response.ended() && response.headWritten()) {
      // A stream began before the body ended: it cannot become a refusal.
      request.connection().close();
      return;
    }
    if (!response.ended() && !response.closed()) {
      response.putHeader(HttpHeaders.CONNECTION, CLOSE);
      write(refusing.apply(why));
    }
    // Closing a connection with unread input at once would reset it, and the response could be
    // lost.
    context
        .owner()
        .setTimer(
            HttpLimits.LINGER_MILLIS,
            late -> {
              request.pause();
              request.connection().close();
            });
  }
}

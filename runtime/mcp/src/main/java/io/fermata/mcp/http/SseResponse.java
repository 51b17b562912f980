package io.fermata.mcp.http;

import io.fermata.mcp.protocol.OutboundQueue;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A response that becomes a stream of server-sent events as soon as there is something to send
 * before the result. With a log, its events have ids and the client may resume it; without, what is
 * sent after its connection broke is lost.
 */
public final class SseResponse {
  private static final CharSequence EVENTS = HttpHeaders.createOptimized("text/event-stream");
  private static final CharSequence NO_CACHE = HttpHeaders.createOptimized("no-cache");
  private static final CharSequence BUFFERING = HttpHeaders.createOptimized("x-accel-buffering");
  private static final CharSequence NO = HttpHeaders.createOptimized("no");

  /** A comment, which clients ignore: it keeps idle connections open. */
  private static final Buffer HEARTBEAT = Buffer.buffer(":\n\n");

  private final HttpServerResponse response;
  private final @Nullable Function<Runnable, @Nullable StreamLog> openLog;
  private final Duration grace;

  /** The only context in which the response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private final OutboundQueue progress =
      new OutboundQueue(woken -> context.runOnContext(home -> send()));
  private @Nullable StreamLog log;
  private boolean started;
  private boolean answered;
  private boolean heartbeatStarted;

  /**
   * @param openLog opens the log of the events: it takes what to do if the client does not resume,
   *     and returns null if there is no room; null if the client cannot resume
   * @param grace after what time a broken connection without a log counts as a cancellation
   */
  public SseResponse(
      HttpServerResponse response,
      @Nullable Function<Runnable, @Nullable StreamLog> openLog,
      Duration grace) {
    this.response = response.closeHandler(closed -> closed());
    this.openLog = openLog;
    this.grace = grace;
  }

  public OutboundQueue progress() {
    return progress;
  }

  private void closed() {
    if (log != null) {
      log.await(context);
      send();
    } else if (grace.isZero()) {
      progress.disconnect();
    } else {
      context.owner().setTimer(grace.toMillis(), late -> progress.disconnect());
    }
  }

  private void send() {
    if (answered || (log == null ? finished() : log.expired())) {
      return;
    }
    if (log != null && detached() && !log.hasRoom()) {
      context.owner().setTimer(OutboundQueue.PAUSE_MILLIS, rested -> send());
    } else if (!detached() && response.writeQueueFull()) {
      response.drainHandler(drained -> resume());
    } else {
      keepAlive();
      List<byte[]> notifications = progress.take();
      if (!notifications.isEmpty()) {
        write(notifications);
        context.owner().setTimer(OutboundQueue.PAUSE_MILLIS, rested -> send());
      }
      if (progress.takeRelease() && openLog != null) {
        release();
      }
    }
  }

  /** Ends the response before the result; the client resumes for it. */
  private void release() {
    begin();
    if (log != null && log.resumed()) {
      log.release();
    } else if (log != null && !finished()) {
      response.end();
      log.await(context);
    }
  }

  private void keepAlive() {
    if (progress.needsKeepAlive() && !heartbeatStarted && !finished()) {
      heartbeatStarted = true;
      begin();
      heartbeat(response, context);
    }
  }

  public static void heartbeat(HttpServerResponse response, Context context) {
    if (!response.ended() && !response.closed()) {
      if (!response.writeQueueFull()) {
        response.write(HEARTBEAT);
      }
      context
          .owner()
          .setTimer(
              HttpLimits.DEFAULT.heartbeat().toMillis(), rested -> heartbeat(response, context));
    }
  }

  private void resume() {
    response.drainHandler(null);
    send();
  }

  /** Whether the client is connected elsewhere, or not at all. */
  private boolean detached() {
    return finished() || (log != null && log.resumed());
  }

  private boolean finished() {
    return response.ended() || response.closed();
  }

  private void write(List<byte[]> messages) {
    begin();
    messages.forEach(
        message -> {
          boolean live = !detached();
          Buffer event = toEvent(message, live);
          if (live) {
            response.write(event);
          }
        });
  }

  private void begin() {
    if (!started) {
      started = true;
      open(response);
      if (openLog != null) {
        log = openLog.apply(progress::disconnect);
      }
      if (log != null) {
        response.write(Buffer.buffer(log.opening(0)));
        log.onResume(() -> context.runOnContext(home -> send()));
      }
    }
  }

  /** Makes a response a stream of events. */
  public static void open(HttpServerResponse response) {
    response
        .setChunked(true)
        .putHeader(HttpHeaders.CONTENT_TYPE, EVENTS)
        .putHeader(HttpHeaders.CACHE_CONTROL, NO_CACHE)
        // Without it, proxies buffer events.
        .putHeader(BUFFERING, NO);
  }

  /** Ends the response with the result if it has become a stream; else leaves it to the caller. */
  boolean endedWith(byte[] answer) {
    List<byte[]> rest = progress.end();
    if (!started && (rest.isEmpty() || finished())) {
      return false;
    }
    answered = true;
    write(rest);
    boolean live = !detached();
    Buffer last = toEvent(answer, live);
    if (log != null) {
      log.end();
      // What was written may still not have arrived.
      log.await(context);
    }
    if (live) {
      response.end(last);
    } else if (!finished()) {
      response.end();
    }
    return true;
  }

  /** Ends a stream that has no result. */
  public void end() {
    List<byte[]> rest = progress.end();
    if (!finished()) {
      begin();
      write(rest);
      response.end();
    }
  }

  private Buffer toEvent(byte[] message, boolean live) {
    return Buffer.buffer(log == null ? event(message, null) : log.append(message, live));
  }

  /** One event. The JSON has no line breaks. */
  public static byte[] event(byte[] json, @Nullable String id) {
    byte[] end = (id == null ? "\n\n" : "\nid: " + id + "\n\n").getBytes(StandardCharsets.UTF_8);
    return Buffer.buffer(json.length + 96)
        .appendString("event: message\ndata: ")
        .appendBytes(json)
        .appendBytes(end)
        .getBytes();
  }
}

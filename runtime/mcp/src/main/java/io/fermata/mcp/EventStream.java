package io.fermata.mcp;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import java.util.List;
import java.util.Objects;

/**
 * A response that becomes a stream of events if there is progress before the answer. Events have no
 * ids: a broken stream cannot be resumed, the outcome is fetched by calling again.
 */
final class EventStream {
  private static final CharSequence EVENTS = HttpHeaders.createOptimized("text/event-stream");
  private static final CharSequence NO_CACHE = HttpHeaders.createOptimized("no-cache");
  private static final CharSequence BUFFERING = HttpHeaders.createOptimized("x-accel-buffering");
  private static final CharSequence NO = HttpHeaders.createOptimized("no");

  /** A comment, which clients skip: it keeps the connection from being taken for dead. */
  private static final Buffer HEARTBEAT = Buffer.buffer(":\n\n");

  private final HttpServerResponse response;

  /** Where the request is handled, and the only place where its response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private final Progress progress = new Progress(woken -> context.runOnContext(home -> send()));
  private boolean begun;
  private boolean beating;

  EventStream(HttpServerResponse response) {
    this.response = response.closeHandler(closed -> progress.gone());
  }

  Progress progress() {
    return progress;
  }

  private void send() {
    if (over()) {
      progress.gone();
    } else if (response.writeQueueFull()) {
      response.drainHandler(drained -> resume());
    } else {
      keepAlive();
      List<byte[]> notifications = progress.take();
      if (!notifications.isEmpty()) {
        write(notifications);
        context.owner().setTimer(Progress.PAUSE_MILLIS, rested -> send());
      }
    }
  }

  private void keepAlive() {
    if (progress.held() && !beating) {
      beating = true;
      begin();
      beat();
    }
  }

  private void beat() {
    if (!over()) {
      if (!response.writeQueueFull()) {
        response.write(HEARTBEAT);
      }
      context.owner().setTimer(ThreadStream.HEARTBEAT.toMillis(), rested -> beat());
    }
  }

  private void resume() {
    response.drainHandler(null);
    send();
  }

  private boolean over() {
    return response.ended() || response.closed();
  }

  private void write(List<byte[]> messages) {
    begin();
    messages.forEach(message -> response.write(event(message)));
  }

  private void begin() {
    if (!begun) {
      begun = true;
      response
          .setChunked(true)
          .putHeader(HttpHeaders.CONTENT_TYPE, EVENTS)
          .putHeader(HttpHeaders.CACHE_CONTROL, NO_CACHE)
          // Proxies would keep events back until their buffer is full.
          .putHeader(BUFFERING, NO);
    }
  }

  /** Ends the response with the answer if there was progress; else it is left to be plain. */
  boolean ended(byte[] answer) {
    List<byte[]> rest = progress.end();
    if (!begun && rest.isEmpty()) {
      return false;
    }
    write(rest);
    response.end(event(answer));
    return true;
  }

  /** Ends a stream that nothing answers. */
  void end() {
    if (!over()) {
      begin();
      response.end();
    }
  }

  /** One event. JSON as it is written here has no line breaks. */
  private static Buffer event(byte[] json) {
    return Buffer.buffer(json.length + 32)
        .appendString("event: message\ndata: ")
        .appendBytes(json)
        .appendString("\n\n");
  }
}

package io.fermata.mcp.http;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Writes a response as a stream of server-sent events. It may be touched in its context only. */
public final class SseWriter {
  private static final CharSequence EVENTS = HttpHeaders.createOptimized("text/event-stream");
  private static final CharSequence NO_STORE = HttpHeaders.createOptimized("no-store");
  private static final CharSequence BUFFERING = HttpHeaders.createOptimized("x-accel-buffering");
  private static final CharSequence NO = HttpHeaders.createOptimized("no");

  /** A comment, which clients ignore. */
  private static final Buffer HEARTBEAT = Buffer.buffer(":\n\n");

  private final HttpServerResponse response;
  private final Duration heartbeat;
  private final Context context = Objects.requireNonNull(Vertx.currentContext());
  private boolean beating;
  private long nextBeat;

  /**
   * @param heartbeat the time between two comments that keep the connection open
   */
  public SseWriter(HttpServerResponse response, Duration heartbeat) {
    this.response = response;
    this.heartbeat = heartbeat;
  }

  /** Makes the response a stream of events. */
  public void open() {
    response
        .setChunked(true)
        .putHeader(HttpHeaders.CONTENT_TYPE, EVENTS)
        .putHeader(HttpHeaders.CACHE_CONTROL, NO_STORE)
        // Without it, proxies buffer events.
        .putHeader(BUFFERING, NO);
  }

  /** Keeps the connection of a stream open while there are no events. */
  public void keepAlive() {
    if (!beating) {
      beating = true;
      beat();
    }
  }

  private void beat() {
    if (!finished()) {
      if (!response.writeQueueFull()) {
        response.write(HEARTBEAT);
      }
      nextBeat = context.owner().setTimer(heartbeat.toMillis(), rested -> beat());
    }
  }

  public void write(byte[] event) {
    response.write(Buffer.buffer(event));
  }

  public void write(String event) {
    response.write(event);
  }

  /** Whether the client takes more now. If not, something is run once it does. */
  public boolean takesMore(Runnable later) {
    if (!response.writeQueueFull()) {
      return true;
    }
    response.drainHandler(
        drained -> {
          response.drainHandler(null);
          later.run();
        });
    return false;
  }

  /** Whether the response has ended, or its client has gone. */
  public boolean finished() {
    return response.ended() || response.closed();
  }

  /** Ends the response with an event. */
  void end(byte[] last) {
    stopBeating();
    response.end(Buffer.buffer(last));
  }

  /** Ends the response, unless its client has gone. */
  public void end() {
    stopBeating();
    if (!finished()) {
      response.end();
    }
  }

  private void stopBeating() {
    if (beating) {
      context.owner().cancelTimer(nextBeat);
    }
  }

  /** A message of MCP as an event. The JSON has no line breaks. */
  public static byte[] event(byte[] json, @Nullable String id) {
    byte[] end = (id == null ? "\n\n" : "\nid: " + id + "\n\n").getBytes(StandardCharsets.UTF_8);
    return Buffer.buffer(json.length + 96)
        .appendString("event: message\ndata: ")
        .appendBytes(json)
        .appendBytes(end)
        .getBytes();
  }
}

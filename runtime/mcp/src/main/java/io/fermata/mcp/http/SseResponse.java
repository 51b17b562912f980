package io.fermata.mcp.http;

import io.fermata.mcp.protocol.OutboundQueue;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
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
  private final SseWriter out;
  private final @Nullable Function<Runnable, @Nullable StreamLog> openLog;
  private final Duration grace;

  /** The only context in which the response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private final OutboundQueue progress =
      new OutboundQueue(woken -> context.runOnContext(home -> send()));
  private @Nullable StreamLog log;
  private boolean started;
  private boolean answered;

  /**
   * @param heartbeat the time between two comments that keep the connection open
   * @param openLog opens the log of the events: it takes what to do if the client does not resume,
   *     and returns null if there is no room; null if the client cannot resume
   * @param grace after what time a broken connection without a log counts as a cancellation
   */
  public SseResponse(
      HttpServerResponse response,
      Duration heartbeat,
      @Nullable Function<Runnable, @Nullable StreamLog> openLog,
      Duration grace) {
    this.out = new SseWriter(response.closeHandler(closed -> closed()), heartbeat);
    this.openLog = openLog;
    this.grace = grace;
  }

  public OutboundQueue progress() {
    return progress;
  }

  private void closed() {
    out.end();
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
    if (answered || (log == null ? out.finished() : log.expired())) {
      return;
    }
    if (log != null && detached() && !log.hasRoom()) {
      context.owner().setTimer(OutboundQueue.PAUSE_MILLIS, rested -> send());
    } else if (detached() || out.takesMore(this::send)) {
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
    } else if (log != null && !out.finished()) {
      out.end();
      log.await(context);
    }
  }

  private void keepAlive() {
    if (progress.needsKeepAlive() && !out.finished()) {
      begin();
      out.keepAlive();
    }
  }

  /** Whether the client is connected elsewhere, or not at all. */
  private boolean detached() {
    return out.finished() || (log != null && log.resumed());
  }

  private void write(List<byte[]> messages) {
    begin();
    messages.forEach(
        message -> {
          boolean live = !detached();
          byte[] event = toEvent(message, live);
          if (live) {
            out.write(event);
          }
        });
  }

  private byte[] toEvent(byte[] message, boolean live) {
    return log == null ? SseWriter.event(message, null) : log.append(message, live);
  }

  private void begin() {
    if (!started) {
      started = true;
      out.open();
      if (openLog != null) {
        log = openLog.apply(progress::disconnect);
      }
      if (log != null) {
        out.write(log.opening(0));
        log.onResume(() -> context.runOnContext(home -> send()));
      }
    }
  }

  /** Ends the response with the result if it has become a stream; else leaves it to the caller. */
  boolean endedWith(byte[] answer) {
    List<byte[]> rest = progress.end();
    if (!started && (rest.isEmpty() || out.finished())) {
      return false;
    }
    answered = true;
    write(rest);
    boolean live = !detached();
    byte[] last = toEvent(answer, live);
    if (log != null) {
      log.end();
      // What was written may still not have arrived.
      log.await(context);
    }
    if (live) {
      out.end(last);
    } else {
      out.end();
    }
    return true;
  }

  /** Ends a stream that has no result. */
  public void end() {
    List<byte[]> rest = progress.end();
    if (!out.finished()) {
      write(rest);
      out.end();
    }
  }
}

package io.fermata.mcp.legacy;

import io.fermata.mcp.http.SseWriter;
import io.fermata.mcp.rpc.RpcException;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The response to a client that resumes a stream: it sends the rest of the events. */
final class ResumedResponse implements EventLog.Listener {
  /**
   * Where a stream is resumed.
   *
   * @param after the number of the last event that the client has
   */
  record Point(EventLog log, long after) {}

  private final SseWriter out;
  private final EventLog log;

  /** The only context in which the response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private long sent;

  private ResumedResponse(SseWriter out, Point point) {
    this.out = out;
    this.log = point.log();
    this.sent = point.after();
  }

  /**
   * Begins to send.
   *
   * @param heartbeat the time between two comments that keep the connection open
   * @throws RpcException if the log has expired in the meantime
   */
  static void begin(HttpServerResponse response, Duration heartbeat, Point point) {
    SseWriter out = new SseWriter(response, heartbeat);
    ResumedResponse resumption = new ResumedResponse(out, point);
    if (!resumption.log.listen(resumption, point.after())) {
      throw EventLogs.gone();
    }
    out.open();
    out.write(resumption.log.opening(point.after()));
    response.closeHandler(closed -> resumption.gone());
    out.keepAlive();
  }

  private void gone() {
    out.end();
    log.await(context, this);
  }

  @Override
  public void wake() {
    context.runOnContext(home -> send());
  }

  @Override
  public void replaced() {
    context.runOnContext(home -> out.end());
  }

  @Override
  public void release() {
    context.runOnContext(home -> leave());
  }

  private void leave() {
    if (!out.finished()) {
      out.end();
      log.await(context, this);
    }
  }

  private void send() {
    if (out.finished() || !out.takesMore(this::send)) {
      return;
    }
    @Nullable List<byte[]> rest = log.after(sent);
    if (rest == null) {
      // The client was too slow, and events were dropped: a stream must not have a gap.
      out.end();
      return;
    }
    rest.forEach(out::write);
    sent += rest.size();
    if (log.completedAt(sent)) {
      out.end();
      log.await(context, this);
    }
  }
}

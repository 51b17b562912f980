package io.fermata.mcp.legacy;

import io.fermata.mcp.http.SseResponse;
import io.fermata.mcp.rpc.RpcException;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
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

  private final HttpServerResponse response;
  private final EventLog log;

  /** The only context in which the response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private long sent;

  private ResumedResponse(HttpServerResponse response, Point point) {
    this.response = response;
    this.log = point.log();
    this.sent = point.after();
  }

  /**
   * Begins to send.
   *
   * @throws RpcException if the log has expired in the meantime
   */
  static void begin(HttpServerResponse response, Point point) {
    ResumedResponse resumption = new ResumedResponse(response, point);
    if (!resumption.log.listen(resumption, point.after())) {
      throw EventLogs.gone();
    }
    SseResponse.open(response);
    response.write(Buffer.buffer(resumption.log.opening(point.after())));
    response.closeHandler(closed -> resumption.log.await(resumption.context, resumption));
    SseResponse.heartbeat(response, resumption.context);
  }

  @Override
  public void wake() {
    context.runOnContext(home -> send());
  }

  @Override
  public void replaced() {
    context.runOnContext(home -> end());
  }

  @Override
  public void release() {
    context.runOnContext(home -> leave());
  }

  private void leave() {
    if (!response.ended() && !response.closed()) {
      response.end();
      log.await(context, this);
    }
  }

  private void end() {
    if (!response.ended() && !response.closed()) {
      response.end();
    }
  }

  private void send() {
    if (response.ended() || response.closed()) {
      return;
    }
    if (response.writeQueueFull()) {
      response.drainHandler(drained -> resume());
      return;
    }
    @Nullable List<byte[]> rest = log.after(sent);
    if (rest == null) {
      // The client was too slow, and events were dropped: a stream must not have a gap.
      end();
      return;
    }
    rest.forEach(event -> response.write(Buffer.buffer(event)));
    sent += rest.size();
    if (log.completedAt(sent)) {
      response.end();
      log.await(context, this);
    }
  }

  private void resume() {
    response.drainHandler(null);
    send();
  }
}

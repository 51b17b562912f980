package io.fermata.mcp;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A response that tells a client that has come back the rest of a stream. */
final class Resumption implements Replay.Listener {
  /**
   * Where a stream is to be taken up.
   *
   * @param after the number of the last event that the client has
   */
  record Point(Replay replay, long after) {}

  private final HttpServerResponse response;
  private final Replay replay;

  /** Where the request is handled, and the only place where its response may be touched. */
  private final Context context = Objects.requireNonNull(Vertx.currentContext());

  private long heard;

  private Resumption(HttpServerResponse response, Point point) {
    this.response = response;
    this.replay = point.replay();
    this.heard = point.after();
  }

  /**
   * Begins to tell.
   *
   * @throws Refusal if the stream was given up in this moment
   */
  static void begin(HttpServerResponse response, Point point) {
    Resumption resumption = new Resumption(response, point);
    if (!resumption.replay.listen(resumption, point.after())) {
      throw Replays.gone();
    }
    EventStream.open(response);
    response.write(Buffer.buffer(resumption.replay.opening(point.after())));
    response.closeHandler(closed -> resumption.replay.await(resumption.context, resumption));
    EventStream.beat(response, resumption.context);
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
  public void letGo() {
    context.runOnContext(home -> leave());
  }

  private void leave() {
    if (!response.ended() && !response.closed()) {
      response.end();
      replay.await(context, this);
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
    @Nullable List<byte[]> rest = replay.after(heard);
    if (rest == null) {
      // It was too slow, and has missed something: a stream with a gap says the wrong thing.
      end();
      return;
    }
    rest.forEach(event -> response.write(Buffer.buffer(event)));
    heard += rest.size();
    if (replay.over(heard)) {
      response.end();
      replay.await(context, this);
    }
  }

  private void resume() {
    response.drainHandler(null);
    send();
  }
}

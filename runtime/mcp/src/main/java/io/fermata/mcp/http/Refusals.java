package io.fermata.mcp.http;

import io.fermata.mcp.access.RateLimitedLog;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.Refusal;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.util.function.LongSupplier;
import org.slf4j.LoggerFactory;

/** Counts and logs requests that were refused before they were read; never their credentials. */
public final class Refusals {
  private final Telemetry telemetry;
  private final RateLimitedLog log;

  /**
   * @param nanos the time, in nanoseconds; it never goes back
   */
  public Refusals(Telemetry telemetry, LongSupplier nanos) {
    this.telemetry = telemetry;
    this.log = new RateLimitedLog(LoggerFactory.getLogger(Refusals.class), nanos);
  }

  void add(HttpServerRequest request, RpcException refusal) {
    switch (refusal.status) {
      case 400, 401 -> add(request, refusal, Refusal.UNAUTHENTICATED);
      case 403 -> add(request, refusal, Refusal.FORBIDDEN);
      case 429 -> add(request, refusal, Refusal.RATE);
      default -> {
        // The server failed and has logged it.
      }
    }
  }

  private void add(HttpServerRequest request, RpcException refusal, Refusal reason) {
    telemetry.refused(reason);
    SocketAddress remote = request.remoteAddress();
    log.warn(
        "A request of {} was refused with {}: {}",
        remote == null ? "unknown" : remote.hostAddress(),
        refusal.status,
        refusal.reason);
  }
}

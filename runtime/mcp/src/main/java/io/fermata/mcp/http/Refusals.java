package io.fermata.mcp.http;

import io.fermata.flow.json.Texts;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.access.RateLimitedLog;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.Refusal;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** Counts and logs requests that were refused before they were read; never their credentials. */
public final class Refusals {
  private final Telemetry telemetry;
  private final RateLimitedLog log;
  private final AuditLog audit;

  /**
   * @param nanos the time, in nanoseconds; it never goes back
   */
  public Refusals(Telemetry telemetry, AuditLog audit, LongSupplier nanos) {
    this.telemetry = telemetry;
    this.audit = audit;
    this.log = new RateLimitedLog(LoggerFactory.getLogger(Refusals.class), nanos);
  }

  /**
   * Counts refusals.
   *
   * @param times 0 so that the counter is there, which an alert needs before its first event
   */
  public static void count(Telemetry telemetry, Refusal reason, int times) {
    telemetry.measured(Meter.REFUSALS, times, List.of(Meter.tag(reason)));
  }

  /**
   * @param principal the caller; null if it is not known
   */
  void add(HttpServerRequest request, @Nullable String principal, RpcException refusal) {
    switch (refusal.status) {
      case 400, 401 -> add(request, principal, refusal, Refusal.UNAUTHENTICATED);
      case 403 -> add(request, principal, refusal, Refusal.FORBIDDEN);
      case 429 -> add(request, principal, refusal, Refusal.RATE);
      default -> {
        // The server failed and has logged it.
      }
    }
  }

  private void add(
      HttpServerRequest request, @Nullable String principal, RpcException refusal, Refusal reason) {
    count(telemetry, reason, 1);
    SocketAddress remote = request.remoteAddress();
    String address = remote == null ? "unknown" : remote.hostAddress();
    if (reason != Refusal.RATE) {
      audit.notAdmitted(principal, address, HttpError.code(refusal));
    }
    log.warn(
        "A request of {} was refused with {}: {}",
        address,
        refusal.status,
        Texts.inOneLine(refusal.reason));
  }
}

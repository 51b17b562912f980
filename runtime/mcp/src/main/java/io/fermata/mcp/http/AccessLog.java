package io.fermata.mcp.http;

import io.fermata.mcp.access.LogFields;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One line for each request once its response has ended or its client has gone, to a logger of its
 * own.
 */
public final class AccessLog {
  /** The name of the logger. */
  public static final String LOGGER = "fermata.access";

  private static final Logger LOG = LoggerFactory.getLogger(LOGGER);

  /** What stands for a part of a path that a client chose, such as the id of a session. */
  private static final String ANY = "*";

  private static final int MOST_PARTS = 5;

  /**
   * What logs a request, once: when its response has ended, or its client has gone.
   *
   * @param path its path without what a client chose in it; null if nothing is served there
   */
  Runnable line(
      HttpServerRequest request,
      @Nullable String path,
      OpenConnection.Exchange exchange,
      String address) {
    long began = System.nanoTime();
    HttpServerResponse response = request.response();
    return once(
        () ->
            LOG.info(
                "method={} path={} status={} millis={} principal={} address={}",
                LogFields.quoted(request.method().name()),
                LogFields.quoted(path),
                response.headWritten() ? response.getStatusCode() : "-",
                TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began),
                LogFields.quoted(exchange.principal()),
                LogFields.quoted(address)));
  }

  private static Runnable once(Runnable todo) {
    AtomicBoolean done = new AtomicBoolean();
    return () -> {
      if (done.compareAndSet(false, true)) {
        todo.run();
      }
    };
  }

  /** The path of a request to a route: its own names as they are, all other parts as one sign. */
  static String path(HttpRoute route, String path) {
    StringBuilder shown = new StringBuilder(route.path());
    String[] parts = path.substring(route.path().length()).split("/", -1);
    Set<String> names = route.names();
    for (int i = 1; i < Math.min(parts.length, MOST_PARTS); i++) {
      shown.append('/').append(names.contains(parts[i]) ? parts[i] : ANY);
    }
    return shown.toString();
  }
}

package io.fermata.mcp.http;

import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Lets pages of allowed origins read responses. Requests are never authenticated by cookies, so
 * browsers are not asked to send any.
 */
public final class Cors {
  private static final String METHODS = "GET, POST, PATCH, DELETE";
  private static final String EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After, Location";
  private static final String SECONDS = "600";

  /** Names of headers, which are echoed. */
  private static final Pattern NAMES = Pattern.compile("[\\w-]{1,100}(, ?[\\w-]{1,100}){0,50}");

  private final Set<String> origins = new HashSet<>();

  public Cors(Collection<String> allowedOrigins) {
    allowedOrigins.forEach(origin -> origins.add(origin.toLowerCase(Locale.ROOT)));
  }

  /**
   * Lets the page that sent the request read its response.
   *
   * @return whether the request was a preflight and its response has ended
   */
  boolean endsPreflight(HttpServerRequest request) {
    if (origins.isEmpty()) {
      return false;
    }
    HttpServerResponse response = request.response();
    // A response to one origin must not be cached for another.
    response.putHeader(HttpHeaders.VARY, HttpHeaders.ORIGIN);
    @Nullable String origin = shared(request.headers());
    if (origin == null) {
      return false;
    }
    response
        .putHeader(HttpHeaders.ACCESS_CONTROL_ALLOW_ORIGIN, origin)
        .putHeader(HttpHeaders.ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    if (!request.method().equals(HttpMethod.OPTIONS)
        || !request.headers().contains(HttpHeaders.ACCESS_CONTROL_REQUEST_METHOD)) {
      return false;
    }
    String wanted = request.getHeader(HttpHeaders.ACCESS_CONTROL_REQUEST_HEADERS);
    if (wanted != null && NAMES.matcher(wanted).matches()) {
      response.putHeader(HttpHeaders.ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    }
    response
        .putHeader(HttpHeaders.ACCESS_CONTROL_ALLOW_METHODS, METHODS)
        .putHeader(HttpHeaders.ACCESS_CONTROL_MAX_AGE, SECONDS)
        .setStatusCode(204)
        .end();
    return true;
  }

  private @Nullable String shared(MultiMap headers) {
    List<String> named = headers.getAll(HttpHeaders.ORIGIN);
    return named.size() == 1 && origins.contains(named.get(0).toLowerCase(Locale.ROOT))
        ? named.get(0)
        : null;
  }
}

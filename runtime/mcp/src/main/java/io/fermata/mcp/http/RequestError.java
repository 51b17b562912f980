package io.fermata.mcp.http;

import java.util.Arrays;
import java.util.Locale;

/** The stable names of errors of requests about threads or runs that do not reach the host. */
public enum RequestError {
  BAD_REQUEST(400, "The path, the body or the protocol cannot be read", "Correct it"),
  INVALID_FIELDS(400, "Fields, parameters or headers do not fit", "Correct those in fields"),
  UNAUTHORIZED(401, "The key or token is missing, or not valid", "Send one that is"),
  FORBIDDEN(403, "The token lacks scopes, or the host or origin is not allowed", "Get them"),
  MAY_NOT_INSTRUCT(403, "Only instructors instruct agents", "Send it as a user"),
  MAY_NOT_OPERATE(403, "Only operators operate runs, and see those of others", "Ask one of them"),
  NOT_FOUND(404, "Nothing is served at this path", "Correct the path"),
  METHOD_NOT_ALLOWED(405, "The path does not take the method", "Use one of Allow"),
  NOT_ACCEPTABLE(406, "Accept does not list text/event-stream", "List it"),
  REQUEST_TIMEOUT(408, "The body did not arrive in time", "Send it faster, or less of it"),
  BODY_TOO_LONG(413, "The body is longer than it may be", "Send less"),
  URI_TOO_LONG(414, "The request line is longer than it may be", "Send a shorter path or query"),
  NOT_JSON(
      415,
      "The Content-Type is not application/json, in UTF-8, or there is a Content-Encoding",
      "Send JSON, not compressed"),
  TOO_MANY_CALLS(429, "The caller has more calls than it may", "Retry it after Retry-After"),
  TOO_MANY_STREAMS(429, "The caller has as many event streams as it may", "Close one first"),
  HEADERS_TOO_LONG(431, "The headers are longer than they may be", "Send fewer or shorter ones"),
  INTERNAL_ERROR(500, "The server failed, and has logged why", "Ask its operator"),
  UNAVAILABLE(
      503,
      "The server is busy or shutting down, or the issuer of tokens does not answer",
      "Retry it after Retry-After");

  private final int status;
  private final String cause;
  private final String repair;

  RequestError(int status, String cause, String repair) {
    this.status = status;
    this.cause = cause;
    this.repair = repair;
  }

  /** The first error of a status, as the transport has no names. */
  static RequestError of(int status) {
    return Arrays.stream(values())
        .filter(error -> error.status == status)
        .findFirst()
        .orElse(INTERNAL_ERROR);
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public int status() {
    return status;
  }

  public String cause() {
    return cause;
  }

  public String repair() {
    return repair;
  }
}

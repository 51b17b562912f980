package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.vertx.core.http.HttpHeaders;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An error response: the JSON-RPC error, and its HTTP status. */
final class Refusal extends RuntimeException {
  static final int PARSE_ERROR = -32700;
  static final int INVALID_REQUEST = -32600;
  static final int METHOD_NOT_FOUND = -32601;
  static final int INVALID_PARAMS = -32602;
  static final int INTERNAL_ERROR = -32603;
  static final int LEGACY_RESOURCE_NOT_FOUND = -32002;
  static final int HEADER_MISMATCH = -32020;
  static final int MISSING_CAPABILITY = -32021;
  static final int UNSUPPORTED_VERSION = -32022;

  final int status;
  final int code;
  final String reason;
  final @Nullable ObjectNode data;

  /** What goes with it over HTTP. */
  final Map<CharSequence, String> httpHeaders;

  private Refusal(int status, int code, String reason, @Nullable ObjectNode data) {
    this(status, code, reason, data, Map.of());
  }

  private Refusal(
      int status,
      int code,
      String reason,
      @Nullable ObjectNode data,
      Map<CharSequence, String> httpHeaders) {
    // A refusal is an answer, not a fault: nobody reads its stack.
    super(reason, null, false, false);
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.data = data;
    this.httpHeaders = httpHeaders;
  }

  /** The same with a header over HTTP. */
  Refusal with(CharSequence header, String value) {
    Map<CharSequence, String> all = new LinkedHashMap<>(httpHeaders);
    all.put(header, value);
    return new Refusal(status, code, reason, data, all);
  }

  private Refusal after(long seconds) {
    return with(HttpHeaders.RETRY_AFTER, String.valueOf(Math.max(1, seconds)));
  }

  static Refusal unreadable(String reason) {
    return new Refusal(400, PARSE_ERROR, reason, null);
  }

  static Refusal invalid(String reason) {
    return new Refusal(400, INVALID_REQUEST, reason, null);
  }

  /** A request that the transport turns away before its message is read. */
  static Refusal transport(int status, String reason) {
    return new Refusal(status, INVALID_REQUEST, reason, null);
  }

  static Refusal sessionGone() {
    return new Refusal(
        404,
        INVALID_REQUEST,
        "The session has ended or is not of this server. Send initialize to begin a new one.",
        null);
  }

  static Refusal unknownMethod(String method, boolean modern) {
    String reason = "Method not found: " + shortened(method);
    if (modern && method.equals("initialize")) {
      reason += "; this revision has no handshake, call server/discover.";
    }
    return new Refusal(modern ? 404 : 200, METHOD_NOT_FOUND, reason, null);
  }

  /** The message lacks what every request of its revision must have. */
  static Refusal malformed(String reason) {
    return new Refusal(400, INVALID_PARAMS, reason, null);
  }

  /** The message is well-formed, but the method cannot serve its parameters. */
  static Refusal params(String reason) {
    return new Refusal(200, INVALID_PARAMS, reason, null);
  }

  static Refusal unknownResource(String uri, boolean modern) {
    int code = modern ? INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND;
    String shown = shortened(uri);
    ObjectNode data = JsonNodeFactory.instance.objectNode().put("uri", shown);
    return new Refusal(200, code, "Resource not found: " + shown, data);
  }

  static Refusal headers(String reason) {
    return new Refusal(400, HEADER_MISMATCH, "Header mismatch: " + reason, null);
  }

  static Refusal unsupportedVersion(String requested, List<String> supported) {
    ObjectNode data = JsonNodeFactory.instance.objectNode();
    supported.forEach(data.putArray("supported")::add);
    data.put("requested", shortened(requested));
    return new Refusal(400, UNSUPPORTED_VERSION, "Unsupported protocol version", data);
  }

  /** What has to be asked is beyond what the client declared. */
  static Refusal missingCapability(ObjectNode needed, boolean modern) {
    List<String> names = new ArrayList<>();
    needed.fieldNames().forEachRemaining(names::add);
    if (names.remove("extensions")) {
      needed.path("extensions").fieldNames().forEachRemaining(names::add);
    }
    return missingCapability(
        needed,
        modern,
        "The request needs a client that declares " + String.join(" and ", names) + ".");
  }

  static Refusal missingCapability(ObjectNode needed, boolean modern, String reason) {
    ObjectNode data = JsonNodeFactory.instance.objectNode().set("requiredCapabilities", needed);
    return modern
        ? new Refusal(400, MISSING_CAPABILITY, reason, data)
        : new Refusal(200, INVALID_REQUEST, reason, data);
  }

  /** The client was asked, and answered with an error. */
  static Refusal unanswered(String why) {
    return new Refusal(
        200, INVALID_REQUEST, "The client could not answer: " + shortened(why), null);
  }

  static Refusal cancelled() {
    return new Refusal(200, INVALID_REQUEST, "The request was cancelled.", null);
  }

  static Refusal overloaded() {
    return new Refusal(503, INTERNAL_ERROR, "The server is busy: try again later.", null);
  }

  static Refusal tooManyStreams() {
    return new Refusal(
        429, INVALID_REQUEST, "Too many event streams are open: close one first.", null);
  }

  /**
   * @param seconds when to come again
   */
  static Refusal tooManyCalls(String reason, long seconds) {
    return new Refusal(429, INVALID_REQUEST, reason, null).after(seconds);
  }

  static Refusal tooManyQuestions() {
    return new Refusal(
        429,
        INVALID_REQUEST,
        "Too many questions wait for your answers: answer one, or cancel its request.",
        null);
  }

  /** The issuer of tokens cannot be reached. */
  static Refusal issuerAway(long seconds) {
    return new Refusal(
            503,
            INTERNAL_ERROR,
            "Your token cannot be checked, for its issuer does not answer: try again later.",
            null)
        .after(seconds);
  }

  /** What the client asked for cannot be done, for a reason that it may know. */
  static Refusal failed(String reason) {
    return new Refusal(500, INTERNAL_ERROR, reason, null);
  }

  /** Nothing of the request was done. */
  static Refusal shuttingDown() {
    return ending(
        "shutting_down", "The server is shutting down: send the request again in a moment.");
  }

  /** What the request began may have been done. */
  static Refusal cutOff() {
    return ending(
        "cut_off",
        "The server was shut down before the request was answered: it may have been done in part."
            + " Send it again in a moment if that does no harm.");
  }

  private static Refusal ending(String stable, String reason) {
    ObjectNode data = JsonNodeFactory.instance.objectNode().put("code", stable);
    return new Refusal(503, INTERNAL_ERROR, reason, data).after(1);
  }

  /** Whether the same request may do later. */
  boolean passes() {
    return status == 503;
  }

  static Refusal internal() {
    return new Refusal(500, INTERNAL_ERROR, "Internal error", null);
  }

  /** Keeps what a client sent from filling an error with it. */
  static String shortened(String text) {
    return text.length() <= 100 ? text : text.substring(0, 100) + "…";
  }
}

package io.fermata.mcp.rpc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Texts;
import io.vertx.core.http.HttpHeaders;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** An error response: the JSON-RPC error, and its HTTP status. */
public final class RpcException extends RuntimeException {
  static final int PARSE_ERROR = -32700;
  public static final int INVALID_REQUEST = -32600;
  static final int METHOD_NOT_FOUND = -32601;
  static final int INVALID_PARAMS = -32602;
  public static final int INTERNAL_ERROR = -32603;
  static final int LEGACY_RESOURCE_NOT_FOUND = -32002;
  static final int HEADER_MISMATCH = -32020;
  static final int MISSING_CAPABILITY = -32021;
  static final int UNSUPPORTED_VERSION = -32022;

  public final int status;
  public final int code;
  public final String reason;
  final @Nullable ObjectNode data;

  /** Headers of the HTTP response. */
  public final Map<CharSequence, String> httpHeaders;

  private RpcException(int status, int code, String reason, @Nullable ObjectNode data) {
    this(status, code, reason, data, Map.of());
  }

  private RpcException(
      int status,
      int code,
      String reason,
      @Nullable ObjectNode data,
      Map<CharSequence, String> httpHeaders) {
    // An error response is no fault of the server: it needs no stack trace.
    super(reason, null, false, false);
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.data = data;
    this.httpHeaders = httpHeaders;
  }

  /** The same error with a header of the HTTP response. */
  public RpcException with(CharSequence header, String value) {
    Map<CharSequence, String> all = new LinkedHashMap<>(httpHeaders);
    all.put(header, value);
    return new RpcException(status, code, reason, data, all);
  }

  private RpcException retryAfter(long seconds) {
    return with(HttpHeaders.RETRY_AFTER, String.valueOf(Math.max(1, seconds)));
  }

  static RpcException parseError(String reason) {
    return new RpcException(400, PARSE_ERROR, reason, null);
  }

  public static RpcException invalidRequest(String reason) {
    return new RpcException(400, INVALID_REQUEST, reason, null);
  }

  /** A request that the transport rejects before it reads the message. */
  public static RpcException http(int status, String reason) {
    return new RpcException(status, INVALID_REQUEST, reason, null);
  }

  public static RpcException sessionGone() {
    return new RpcException(
        404,
        INVALID_REQUEST,
        "The session has ended or is unknown to this server. Send initialize to begin a new one.",
        null);
  }

  public static RpcException unknownMethod(String method, boolean modern) {
    String reason = "Method not found: " + abbreviate(method);
    if (modern && method.equals("initialize")) {
      reason += "; this revision has no handshake, call server/discover.";
    }
    return new RpcException(modern ? 404 : 200, METHOD_NOT_FOUND, reason, null);
  }

  /** The message lacks a part that its revision requires of every request. */
  public static RpcException malformed(String reason) {
    return new RpcException(400, INVALID_PARAMS, reason, null);
  }

  /** The message is well-formed, but the method cannot serve its parameters. */
  public static RpcException invalidParams(String reason) {
    return new RpcException(200, INVALID_PARAMS, reason, null);
  }

  public static RpcException unknownResource(String uri, boolean modern) {
    int code = modern ? INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND;
    String shown = abbreviate(uri);
    ObjectNode data = JsonNodeFactory.instance.objectNode().put("uri", shown);
    String reason =
        "Resource not found: %s; resources/list and resources/templates/list list the resources."
            .formatted(shown);
    return new RpcException(200, code, reason, data);
  }

  public static RpcException headerMismatch(String reason) {
    return new RpcException(400, HEADER_MISMATCH, "Header mismatch: " + reason, null);
  }

  public static RpcException unsupportedVersion(String requested, List<String> supported) {
    ObjectNode data = JsonNodeFactory.instance.objectNode();
    supported.forEach(data.putArray("supported")::add);
    data.put("requested", abbreviate(requested));
    return new RpcException(400, UNSUPPORTED_VERSION, "Unsupported protocol version", data);
  }

  /** The request needs a capability that the client did not declare. */
  public static RpcException missingCapability(ObjectNode needed, boolean modern) {
    List<String> names = needed.properties().stream().flatMap(RpcException::names).toList();
    return missingCapability(
        needed,
        modern,
        "The request needs a client that declares " + String.join(" and ", names) + ".");
  }

  /** What a client would have to declare, such as {@code sampling.tools}. */
  private static Stream<String> names(Map.Entry<String, JsonNode> capability) {
    String name = capability.getKey();
    String prefix = name.equals("extensions") ? "" : name + ".";
    return capability.getValue().isEmpty()
        ? Stream.of(name)
        : capability.getValue().properties().stream().map(part -> prefix + part.getKey());
  }

  public static RpcException missingCapability(ObjectNode needed, boolean modern, String reason) {
    ObjectNode data = JsonNodeFactory.instance.objectNode().set("requiredCapabilities", needed);
    return modern
        ? new RpcException(400, MISSING_CAPABILITY, reason, data)
        : new RpcException(200, INVALID_REQUEST, reason, data);
  }

  /** The message is well-formed, but its client cannot be asked what the method has to ask. */
  public static RpcException cannotAsk(String reason) {
    return new RpcException(200, INVALID_REQUEST, reason, null);
  }

  /** The client answered a request of the server with an error. */
  public static RpcException clientFailed(String why) {
    return new RpcException(
        200, INVALID_REQUEST, "The client could not answer: " + abbreviate(why), null);
  }

  public static RpcException cancelled() {
    return new RpcException(200, INVALID_REQUEST, "The request was cancelled.", null);
  }

  public static RpcException overloaded() {
    return new RpcException(503, INTERNAL_ERROR, "The server is busy: try again later.", null)
        .retryAfter(1);
  }

  public static RpcException tooManyStreams() {
    return new RpcException(
        429, INVALID_REQUEST, "Too many event streams are open: close one first.", null);
  }

  /**
   * The caller exceeds its quota of calls.
   *
   * @param seconds after how many seconds to try again
   */
  public static RpcException tooManyCalls(String reason, long seconds) {
    return new RpcException(429, INVALID_REQUEST, reason, null).retryAfter(seconds);
  }

  public static RpcException tooManyQuestions() {
    return new RpcException(
        429,
        INVALID_REQUEST,
        "Too many questions wait for your answers: answer one, or cancel its request.",
        null);
  }

  /** The issuer of tokens cannot be reached. */
  public static RpcException issuerUnavailable(long seconds) {
    return new RpcException(
            503,
            INTERNAL_ERROR,
            "Your token cannot be checked because its issuer does not answer: try again later.",
            null)
        .retryAfter(seconds);
  }

  /** The request failed for a reason that the client may know. */
  public static RpcException failed(String reason) {
    return new RpcException(500, INTERNAL_ERROR, reason, null);
  }

  /** The request was rejected before any work was done. */
  public static RpcException shuttingDown() {
    return ending(
        "shutting_down", "The server is shutting down: send the request again in a moment.");
  }

  /** The request was interrupted and may have taken effect in part. */
  public static RpcException interrupted() {
    return ending(
        "cut_off",
        "The server shut down before the request was answered: it may have taken effect in part."
            + " Send it again in a moment if repeating it is safe.");
  }

  private static RpcException ending(String stable, String reason) {
    ObjectNode data = JsonNodeFactory.instance.objectNode().put("code", stable);
    return new RpcException(503, INTERNAL_ERROR, reason, data).retryAfter(1);
  }

  /** Whether the same request may succeed later. */
  public boolean isTransient() {
    return status == 503 || status == 429;
  }

  public static RpcException internal() {
    return new RpcException(500, INTERNAL_ERROR, "Internal error", null);
  }

  /** Shortens a client's text for an error message. */
  public static String abbreviate(String text) {
    return Texts.shortened(text, 100);
  }
}

package io.fermata.mcp.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.flow.replay.ForkException;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.vertx.core.http.HttpHeaders;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An error of the HTTP API of threads and runs: a status, a stable code and a message. */
public final class HttpError extends RuntimeException {
  private static final Logger LOG = LoggerFactory.getLogger(HttpError.class);
  private static final long serialVersionUID = 1;

  /** The {@code Retry-After} of an error of unknown duration. */
  private static final String SOON = "1";

  private final String code;
  private final transient Response answer;

  private HttpError(String code, Response answer) {
    // An error response is no fault of the server: it needs no stack trace.
    super(null, null, false, false);
    this.code = code;
    this.answer = answer;
  }

  public static HttpError of(RequestError error, String message) {
    return of(error, message, Map.of());
  }

  private static HttpError of(RequestError error, String message, Map<String, String> wrong) {
    return of(error.status(), error.wireName(), message, wrong);
  }

  private static HttpError of(int status, String code, String message, Map<String, String> wrong) {
    return new HttpError(code, answer(status, code, message, wrong));
  }

  /** An error that the host or a run reports, with the status of its code. */
  public static HttpError of(String code, String message) {
    return of(status(code), code, message, Map.of());
  }

  public static HttpError notFound() {
    return of(RequestError.NOT_FOUND, RequestError.NOT_FOUND.cause());
  }

  public static HttpError methods(String allowed) {
    HttpError error =
        of(
            RequestError.METHOD_NOT_ALLOWED,
            "The method is not allowed here; use one of " + allowed);
    return new HttpError(error.code, error.answer.with(HttpHeaders.ALLOW, allowed));
  }

  /** Invalid fields, each with what is wrong with it. */
  public static HttpError fields(Map<String, String> wrong) {
    return of(
        RequestError.INVALID_FIELDS, "Invalid fields: " + String.join(", ", wrong.keySet()), wrong);
  }

  public static HttpError tooManyStreams(int limit) {
    return of(
        RequestError.TOO_MANY_STREAMS,
        "%s event streams are open already; close one first".formatted(limit));
  }

  public static HttpError shuttingDown() {
    return of(
        HostError.SHUTTING_DOWN.wireName(),
        "The server is shutting down; send the request again in a moment");
  }

  /** A refusal of the transport as an error of this API. */
  public static Response refused(RpcException refusal) {
    return answer(refusal.status, code(refusal), refusal.reason, Map.of())
        .with(refusal.httpHeaders);
  }

  static String code(RpcException refusal) {
    return RequestError.of(refusal.status).wireName();
  }

  /** The code of the error that a request failed with. */
  public static String code(Throwable thrown) {
    return of(thrown).code;
  }

  /** The response to a request that failed. */
  public static Response answer(Throwable thrown) {
    logIfUnknown(thrown);
    return of(thrown).answer;
  }

  /** Logs a failure that is the server's fault, whatever reply its caller gets. */
  public static void logIfUnknown(Throwable thrown) {
    if (of(thrown).code.equals(RequestError.INTERNAL_ERROR.wireName())) {
      LOG.error(
          "A request about threads or runs failed inside the server", LoggedFailure.of(thrown));
    }
  }

  private static HttpError of(Throwable thrown) {
    Throwable cause = RootCauses.of(thrown);
    if (cause instanceof HttpError error) {
      return error;
    } else if (cause instanceof RpcException refusal) {
      return new HttpError(code(refusal), refused(refusal));
    } else if (cause instanceof ThreadException exception) {
      return of(exception.code(), String.valueOf(exception.getMessage()));
    } else if (cause instanceof ForkException exception) {
      return of(exception.code(), String.valueOf(exception.getMessage()));
    }
    return of(RequestError.INTERNAL_ERROR, "The request failed inside the server");
  }

  private static int status(String code) {
    HostError error = HostError.named(code);
    if (error != null) {
      return error.status();
    }
    return switch (code) {
      case "unknown_run" -> 404;
      case "may_not_fork" -> 403;
      case "run_ended",
          "run_ending",
          "run_completed",
          "run_cancelled",
          "run_expired",
          "run_failed",
          "nothing_to_resolve",
          "reset_past_once",
          "version_changed",
          "migration_failed" ->
          409;
      default -> 400;
    };
  }

  private static Response answer(
      int status, String code, String message, Map<String, String> wrong) {
    ObjectNode body = Json.object();
    ObjectNode error = body.putObject("error").put("code", code).put("message", message);
    if (!wrong.isEmpty()) {
      ArrayNode fields = error.putArray("fields");
      wrong.forEach((field, why) -> fields.addObject().put("field", field).put("message", why));
    }
    Response answer = Response.of(status, JsonRpcCodec.bytes(body));
    return status == 429 || status == 503 ? answer.with(HttpHeaders.RETRY_AFTER, SOON) : answer;
  }
}

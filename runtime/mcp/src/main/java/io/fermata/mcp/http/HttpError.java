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

  private static final String INTERNAL = "internal_error";

  private final String code;
  private final transient Response answer;

  private HttpError(String code, Response answer) {
    // An error response is no fault of the server: it needs no stack trace.
    super(null, null, false, false);
    this.code = code;
    this.answer = answer;
  }

  public static HttpError of(int status, String code, String message) {
    return new HttpError(code, answer(status, code, message, Map.of()));
  }

  /** An error that the host says, with the status of its code. */
  public static HttpError of(String code, String message) {
    return new HttpError(code, answer(code, message));
  }

  public static HttpError notFound() {
    return of(404, "not_found", "Nothing is served at this path");
  }

  public static HttpError methods(String allowed) {
    String message = "The method is not allowed here; use one of " + allowed;
    return new HttpError(
        "method_not_allowed",
        answer(405, "method_not_allowed", message, Map.of()).with(HttpHeaders.ALLOW, allowed));
  }

  /** Invalid fields, each with what is wrong with it. */
  public static HttpError fields(Map<String, String> wrong) {
    return new HttpError(
        "invalid_fields",
        answer(
            400, "invalid_fields", "Invalid fields: " + String.join(", ", wrong.keySet()), wrong));
  }

  public static HttpError tooManyStreams(int limit) {
    String message = "%d event streams are open already; close one first".formatted(limit);
    return new HttpError(
        "too_many_streams", soon(answer(429, "too_many_streams", message, Map.of())));
  }

  public static HttpError shuttingDown() {
    String message = "The server is shutting down; send the request again in a moment";
    return new HttpError("shutting_down", soon(answer(503, "shutting_down", message, Map.of())));
  }

  /** A refusal of the transport as an error of this API. */
  public static Response refused(RpcException refusal) {
    return answer(refusal.status, code(refusal), refusal.reason, Map.of())
        .with(refusal.httpHeaders);
  }

  static String code(RpcException refusal) {
    return switch (refusal.status) {
      case 400 -> "bad_request";
      case 401 -> "unauthorized";
      case 403 -> "forbidden";
      case 404 -> "not_found";
      case 405 -> "method_not_allowed";
      case 408 -> "request_timeout";
      case 413 -> "body_too_long";
      case 429 -> "too_many_calls";
      case 503 -> "unavailable";
      default -> "not_served";
    };
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
    if (of(thrown).code.equals(INTERNAL)) {
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
    return of(500, INTERNAL, "The request failed inside the server");
  }

  private static Response answer(String code, String message) {
    int status = status(code);
    Response answer = answer(status, code, message, Map.of());
    return status == 429 || status == 503 ? soon(answer) : answer;
  }

  private static int status(String code) {
    if (HostError.isTemporary(code)) {
      return code.equals(HostError.BUSY.wireName()) ? 429 : 503;
    } else if (HostError.isUnreadable(code)) {
      return 500;
    }
    return switch (code) {
      case "unknown_thread", "unknown_file", "unknown_run", "unknown_entry" -> 404;
      case "may_not_fork" -> 403;
      case "not_kept", "erased" -> 410;
      case "message_too_long",
          "file_too_large",
          "thread_too_large",
          "run_too_large",
          "call_too_large" ->
          413;
      case "key_used",
          "no_open_question",
          "tool_missing",
          "too_many_files",
          "too_many_threads",
          "too_many_runs",
          "unknown_agent",
          "unknown_prompt",
          "run_ended",
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
      case "reply_too_large" -> 500;
      default -> 400;
    };
  }

  private static Response soon(Response answer) {
    return answer.with(HttpHeaders.RETRY_AFTER, SOON);
  }

  private static Response answer(
      int status, String code, String message, Map<String, String> wrong) {
    ObjectNode body = Json.object();
    ObjectNode error = body.putObject("error").put("code", code).put("message", message);
    if (!wrong.isEmpty()) {
      ArrayNode fields = error.putArray("fields");
      wrong.forEach((field, why) -> fields.addObject().put("field", field).put("message", why));
    }
    return Response.of(status, JsonRpcCodec.bytes(body));
  }
}

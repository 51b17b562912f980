package io.fermata.mcp.rest;

import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.MediaTypes;
import io.fermata.mcp.http.RequestError;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.admin.Threads;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request to the HTTP API of threads and runs: path, query, headers and caller.
 *
 * @param place the parts of the path below the root
 * @param thread the thread that the caller was permitted to use, as it was then; null if it may use
 *     any
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record ApiRequest(
    HttpServerRequest http,
    AuthenticatedCaller caller,
    List<String> place,
    MultiMap query,
    byte[] body,
    Threads.@Nullable View thread) {
  private static final int MAX_KEY = 255;
  private static final Set<String> REPEATED = Set.of("tag", "status");

  /**
   * @param root the path below which the parts of the path are read
   */
  static ApiRequest of(
      HttpServerRequest http, String root, AuthenticatedCaller caller, byte[] body) {
    try {
      List<String> place = new ArrayList<>();
      for (String part : http.path().substring(root.length()).split("/", -1)) {
        place.add(URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8));
      }
      // The part before the first slash is empty.
      place.remove(0);
      return new ApiRequest(http, caller, place, http.params(), body, null);
    } catch (IllegalArgumentException e) {
      throw HttpError.of(RequestError.BAD_REQUEST, "The path is not valid percent-encoding");
    }
  }

  ApiRequest permitted(Threads.View thread) {
    return new ApiRequest(http, caller, place, query, body, thread);
  }

  String principal() {
    return caller.principal();
  }

  String method() {
    return http.method().name();
  }

  /** Rejects unknown and repeated parameters. */
  void requireQuery(Set<String> known) {
    for (String name : query.names()) {
      if (!known.contains(name)) {
        throw wrong(RpcException.abbreviate(name), "There is no such parameter");
      } else if (query.getAll(name).size() > 1 && !REPEATED.contains(name)) {
        throw wrong(name, "is given twice");
      }
    }
  }

  @Nullable String query(String name) {
    return query.get(name);
  }

  List<String> all(String name) {
    return query.getAll(name);
  }

  int number(String name, int otherwise, int least, int most) {
    String text = query.get(name);
    try {
      int number = text == null ? otherwise : Integer.parseInt(text);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below.
    }
    throw wrong(name, "must be a number from %s to %s".formatted(least, most));
  }

  boolean flag(String name) {
    String text = query.get(name);
    if (text != null && !text.equals("true") && !text.equals("false")) {
      throw wrong(name, "must be true or false");
    }
    return "true".equals(text);
  }

  static HttpError wrong(String name, String why) {
    return HttpError.fields(Map.of(name, why));
  }

  /** The idempotency key of the request; null if it has none. */
  @Nullable String key() {
    List<String> keys = http.headers().getAll("idempotency-key");
    if (keys.isEmpty()) {
      return null;
    }
    String key = keys.get(0).strip();
    if (keys.size() > 1 || key.isEmpty() || key.length() > MAX_KEY) {
      throw wrong("Idempotency-Key", "must be one header of 1 to " + MAX_KEY + " characters");
    }
    return key;
  }

  /**
   * Rejects an idempotency key, which would have no effect.
   *
   * @param first how its sender finds out whether the request was carried out
   */
  void requireNoKey(String first) {
    if (key() != null) {
      throw wrong(
          "Idempotency-Key",
          "is not supported here; %s before you repeat the request".formatted(first));
    }
  }

  /** Makes a change that leaves a line in the audit log, whatever comes of it. */
  <T> CompletionStage<T> audited(
      AuditLog audit, String operation, String session, Supplier<CompletionStage<T>> change) {
    CompletionStage<T> changed;
    try {
      changed = change.get();
    } catch (RuntimeException e) {
      changed = CompletableFuture.failedFuture(e);
    }
    return changed.whenComplete(
        (done, thrown) ->
            audit.changed(
                principal(), operation, session, thrown == null ? "done" : HttpError.code(thrown)));
  }

  /** The body, which the request needs. */
  <T extends Record> T body(Class<T> type) {
    requireJson();
    return Bodies.read(JsonRpcCodec.read(body), type);
  }

  /** The body; without one, that of an object without fields. */
  <T extends Record> T optionalBody(Class<T> type) {
    return body.length == 0 ? Bodies.read(Json.object(), type) : body(type);
  }

  private void requireJson() {
    if (!MediaTypes.isJson(http.getHeader(HttpHeaders.CONTENT_TYPE))) {
      throw HttpError.of(
          RequestError.NOT_JSON, "The Content-Type must be application/json, in UTF-8");
    }
  }
}

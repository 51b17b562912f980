package io.fermata.mcp.rpc;

import com.fasterxml.jackson.databind.JsonNode;
import io.vertx.core.http.HttpHeaders;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The response to a message: over HTTP with status and headers, over stdio the body only. */
public final class Response {
  public static final Response ACCEPTED = new Response(202, null, Map.of());

  /** Somebody else has taken over the response and completes it. */
  public static final Response TAKEN_OVER = new Response(0, null, Map.of());

  private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");

  public final int status;
  public final byte @Nullable [] body;
  public final Map<CharSequence, CharSequence> headers;

  private Response(int status, byte @Nullable [] body, Map<CharSequence, CharSequence> headers) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }

  /** A JSON response. */
  public static Response of(int status, byte[] body) {
    return of(status, JSON, body);
  }

  public static Response of(int status, CharSequence type, byte[] body) {
    return new Response(status, body, Map.of(HttpHeaders.CONTENT_TYPE, type));
  }

  /** An MCP error response; a missing id is left out. */
  public static Response error(JsonNode id, RpcException refusal) {
    return of(refusal.status, JsonRpcCodec.error(id, refusal)).with(refusal.httpHeaders);
  }

  public static Response empty(int status) {
    return new Response(status, null, Map.of());
  }

  /** The same status and headers with another body. */
  public Response withBody(byte[] other) {
    return new Response(status, other, headers);
  }

  public Response with(CharSequence header, String value) {
    return with(Map.of(header, value));
  }

  public Response with(Map<CharSequence, String> more) {
    if (more.isEmpty()) {
      return this;
    }
    Map<CharSequence, CharSequence> all = new LinkedHashMap<>(headers);
    all.putAll(more);
    return new Response(status, body, all);
  }
}

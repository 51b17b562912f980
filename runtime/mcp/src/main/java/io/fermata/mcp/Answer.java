package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import io.vertx.core.http.HttpHeaders;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The response to a message: over HTTP all of it, over stdio the body alone. */
final class Answer {
  static final Answer ACCEPTED = new Answer(202, null, Map.of());

  /** The response is in other hands, which go on with it. */
  static final Answer TAKEN_OVER = new Answer(0, null, Map.of());

  private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");

  final int status;
  final byte @Nullable [] body;
  final Map<CharSequence, CharSequence> headers;

  private Answer(int status, byte @Nullable [] body, Map<CharSequence, CharSequence> headers) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }

  /** An answer in JSON. */
  static Answer of(int status, byte[] body) {
    return of(status, JSON, body);
  }

  static Answer of(int status, CharSequence type, byte[] body) {
    return new Answer(status, body, Map.of(HttpHeaders.CONTENT_TYPE, type));
  }

  /** A refusal as MCP has it; a missing id is left out. */
  static Answer refused(JsonNode id, Refusal refusal) {
    return of(refusal.status, Wire.error(id, refusal)).with(refusal.httpHeaders);
  }

  static Answer empty(int status) {
    return new Answer(status, null, Map.of());
  }

  Answer with(CharSequence header, String value) {
    return with(Map.of(header, value));
  }

  Answer with(Map<CharSequence, String> more) {
    if (more.isEmpty()) {
      return this;
    }
    Map<CharSequence, CharSequence> all = new LinkedHashMap<>(headers);
    all.putAll(more);
    return new Answer(status, body, all);
  }
}

package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.json.Json;
import io.fermata.session.call.Request;
import io.fermata.session.key.SessionKey;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The ids of calls as the journal has them: a digest of the request, and the caller's name for the
 * call. A repeated call has the same id. Another request under the same name has another id with
 * the same name, and is refused.
 */
public final class CallIds {
  private static final int DIGEST = 16;

  /** Begins the id of a call whose reply is not kept. */
  private static final String UNREPLIED = "+".repeat(DIGEST);

  private CallIds() {}

  /**
   * The id of a call; null without a name.
   *
   * @param secrets fields whose values are not part of the digest, which could be guessed from it
   */
  public static @Nullable String of(
      @Nullable String name, Request.OfRun request, SecretFields secrets) {
    if (name == null) {
      return null;
    }
    ObjectNode content = Json.object();
    content.put("action", request.action().toString()).put("intent", request.intent());
    content.set("updates", secrets.masked("", request.updates()));
    Request.Signal signal = request.signal();
    if (signal != null) {
      content.put("signal", signal.name());
      JsonNode payload = signal.payload();
      boolean[] secret = {false};
      if (payload != null) {
        secrets.findInSignal(signal.name(), payload, found -> secret[0] = true);
        content.set("payload", secret[0] ? null : payload);
      }
    }
    if (request.resolution() != null) {
      content.put("resolution", request.resolution().name());
    }
    return SessionKey.digest(Json.text(sorted(content))).substring(0, DIGEST) + name;
  }

  /** The id of a call without a name, under one that a host gave it. */
  public static String given(String name) {
    return "-".repeat(DIGEST) + name;
  }

  /** The id of a call of a thread, under a name that a host gave it. */
  public static String unreplied(String name) {
    return UNREPLIED + name;
  }

  static boolean isUnreplied(String callId) {
    return callId.startsWith(UNREPLIED);
  }

  private static JsonNode sorted(JsonNode tree) {
    if (tree instanceof ObjectNode object) {
      TreeMap<String, JsonNode> fields = new TreeMap<>();
      object.properties().forEach(field -> fields.put(field.getKey(), sorted(field.getValue())));
      return Json.object().setAll(fields);
    } else if (tree instanceof ArrayNode array) {
      ArrayNode copy = array.arrayNode();
      array.forEach(item -> copy.add(sorted(item)));
      return copy;
    }
    return tree;
  }

  /** The caller's name for a call. */
  public static String name(String callId) {
    return callId.substring(Math.min(DIGEST, callId.length()));
  }

  /** Whether two calls have the same name, but not the same request. */
  static boolean contradict(String callId, String other) {
    return !callId.equals(other) && name(callId).equals(name(other));
  }
}

package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A JSON-RPC request or notification.
 *
 * @param id missing in a notification
 */
record Message(JsonNode id, String method, ObjectNode params, ObjectNode meta) {
  boolean notification() {
    return id.isMissingNode();
  }

  /** The id to answer with, as far as there is a usable one. */
  static JsonNode idOf(JsonNode tree, JsonNode otherwise) {
    JsonNode id = tree.path("id");
    return usable(id) ? id : otherwise;
  }

  /** Whether this answers a request of the server's. */
  static boolean isResponse(JsonNode tree) {
    return tree.isObject() && !tree.has("method") && (tree.has("result") || tree.has("error"));
  }

  /**
   * Reads the envelope.
   *
   * @throws Refusal if it is not JSON-RPC 2.0
   */
  static Message of(JsonNode tree) {
    if (!tree.isObject()) {
      throw Refusal.invalid("A message must be a JSON object.");
    }
    if (!"2.0".equals(Wire.text(tree, "jsonrpc"))) {
      throw Refusal.invalid("The member jsonrpc must be the string \"2.0\".");
    }
    JsonNode id = tree.path("id");
    if (!id.isMissingNode() && !usable(id)) {
      throw Refusal.invalid("The member id must be a string or an integer.");
    }
    String method = Wire.text(tree, "method");
    if (method == null) {
      throw Refusal.invalid("The member method must be a string.");
    }
    ObjectNode params = objectAt(tree, "params");
    return new Message(
        id.isMissingNode() ? MissingNode.getInstance() : id,
        method,
        params,
        objectAt(params, "_meta"));
  }

  private static boolean usable(JsonNode id) {
    return id.isTextual() || id.isIntegralNumber();
  }

  private static ObjectNode objectAt(JsonNode tree, String member) {
    JsonNode value = tree.get(member);
    if (value == null) {
      return JsonNodeFactory.instance.objectNode();
    }
    if (value instanceof ObjectNode object) {
      return object;
    }
    throw Refusal.malformed("The member " + member + " must be an object.");
  }
}

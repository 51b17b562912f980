package io.fermata.mcp.rpc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A JSON-RPC request or notification.
 *
 * @param id missing in a notification
 */
public record RpcMessage(JsonNode id, String method, ObjectNode params, ObjectNode meta) {
  public boolean notification() {
    return id.isMissingNode();
  }

  /** The id to answer with; {@code otherwise} if there is no usable one. */
  public static JsonNode idOf(JsonNode tree, JsonNode otherwise) {
    JsonNode id = tree.path("id");
    return usable(id) ? id : otherwise;
  }

  /** Whether this answers a request of the server. */
  public static boolean isResponse(JsonNode tree) {
    return tree.isObject() && !tree.has("method") && (tree.has("result") || tree.has("error"));
  }

  /**
   * Reads the envelope.
   *
   * @throws RpcException if it is not JSON-RPC 2.0
   */
  public static RpcMessage of(JsonNode tree) {
    if (!tree.isObject()) {
      throw RpcException.invalidRequest("A message must be a JSON object.");
    }
    if (!"2.0".equals(JsonRpcCodec.text(tree, "jsonrpc"))) {
      throw RpcException.invalidRequest("The member jsonrpc must be the string \"2.0\".");
    }
    JsonNode id = tree.path("id");
    if (!id.isMissingNode() && !usable(id)) {
      throw RpcException.invalidRequest("The member id must be a string or an integer.");
    }
    String method = JsonRpcCodec.text(tree, "method");
    if (method == null) {
      throw RpcException.invalidRequest("The member method must be a string.");
    }
    ObjectNode params = objectAt(tree, "params");
    return new RpcMessage(
        id.isMissingNode() ? MissingNode.getInstance() : id,
        method,
        params,
        objectAt(params, "_meta"));
  }

  public static boolean usable(JsonNode id) {
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
    throw RpcException.malformed("The member " + member + " must be an object.");
  }
}

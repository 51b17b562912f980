package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolProgress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request whose envelope has been checked.
 *
 * @param client what is known of the client that sent it
 * @param progress the queue of messages before the result; null if the client accepts no stream
 */
record Request(
    JsonNode id,
    Revision revision,
    Caller caller,
    Client client,
    ObjectNode params,
    ObjectNode meta,
    @Nullable Progress progress) {
  String principal() {
    return caller.principal();
  }

  /** The transport session of the client; null if it has none. */
  @Nullable String session() {
    return client.session();
  }

  /** The listener of the progress of a host. */
  Consumer<ToolProgress> listener() {
    return progress == null ? unheard -> {} : progress.listener(meta);
  }

  /** The capabilities of the client; missing if they are not known. */
  JsonNode capabilities() {
    return client.capabilities();
  }

  /** The least severe log messages that the client wants; null if it wants none. */
  @Nullable McpLevel logLevel() {
    return client.logLevel();
  }

  /**
   * A required parameter.
   *
   * @throws Refusal if it is not, or no string
   */
  String text(String parameter) {
    String text = Wire.text(params, parameter);
    if (text == null) {
      throw Refusal.params("The parameter " + parameter + " must be a string.");
    }
    return text;
  }

  /**
   * The state that the client holds for the server; null if none.
   *
   * @throws Refusal if it is no string
   */
  @Nullable String state() {
    JsonNode state = params.get("requestState");
    if (state == null || state.isTextual()) {
      return state == null ? null : state.textValue();
    }
    throw Refusal.params("The parameter requestState must be a string.");
  }

  /**
   * The replies of the client, by the keys of the questions.
   *
   * @throws Refusal if they are no object
   */
  ObjectNode responses() {
    JsonNode responses = params.get("inputResponses");
    if (responses == null) {
      return params.objectNode();
    }
    if (responses instanceof ObjectNode object) {
      return object;
    }
    throw Refusal.params("The parameter inputResponses must be an object.");
  }

  /**
   * The arguments; empty if there are none.
   *
   * @throws Refusal if they are no object
   */
  ObjectNode arguments() {
    JsonNode arguments = params.get("arguments");
    if (arguments == null) {
      return params.objectNode();
    }
    if (arguments instanceof ObjectNode object) {
      return object;
    }
    throw Refusal.params("The parameter arguments must be an object.");
  }
}

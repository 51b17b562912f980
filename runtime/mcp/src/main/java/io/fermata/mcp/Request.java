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
 * @param progress takes what the client is told before the answer; null if it cannot be told
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

  /** Whom to tell what happens until it is answered. */
  Consumer<ToolProgress> listener() {
    return progress == null ? unheard -> {} : progress.listener(meta);
  }

  /** What the client can do; missing if that is not known. */
  JsonNode capabilities() {
    return client.capabilities();
  }

  /** The least of the log messages that the client wants, or null if it wants none. */
  @Nullable McpLevel logLevel() {
    return client.logLevel();
  }

  /**
   * A parameter that has to be there.
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
   * What the server had its client keep when it asked something, or null.
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
   * What the client replies to what it was asked, by the names it was asked under.
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
   * The arguments, of which there may be none.
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

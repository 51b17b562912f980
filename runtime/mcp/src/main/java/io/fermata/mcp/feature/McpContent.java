package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.Base64;
import java.util.Objects;

/** A content block of a tool result or a prompt: text, image, audio or resource. */
public final class McpContent {
  private final ObjectNode json;

  private McpContent(ObjectNode json) {
    this.json = json;
  }

  public static McpContent text(String text) {
    return new McpContent(typed("text").put("text", Objects.requireNonNull(text, "text")));
  }

  public static McpContent image(String mimeType, byte[] bytes) {
    return media("image", mimeType, bytes);
  }

  public static McpContent audio(String mimeType, byte[] bytes) {
    return media("audio", mimeType, bytes);
  }

  /** A resource with its content. */
  public static McpContent resource(McpBody body) {
    return new McpContent(
        typed("resource").set("resource", Objects.requireNonNull(body, "body").json()));
  }

  /** A link to a resource that the client may read. */
  public static McpContent link(String uri, String name) {
    return new McpContent(
        typed("resource_link")
            .put("uri", Objects.requireNonNull(uri, "uri"))
            .put("name", Objects.requireNonNull(name, "name")));
  }

  private static McpContent media(String type, String mimeType, byte[] bytes) {
    String data = Base64.getEncoder().encodeToString(Objects.requireNonNull(bytes, "bytes"));
    return new McpContent(
        typed(type)
            .put("data", data)
            .put("mimeType", Objects.requireNonNull(mimeType, "mimeType")));
  }

  private static ObjectNode typed(String type) {
    return Json.object().put("type", type);
  }

  public ObjectNode json() {
    return json;
  }
}

package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.Base64;
import java.util.Objects;

/** The content of a resource: text or bytes. */
public final class McpBody {
  private final ObjectNode json;

  private McpBody(ObjectNode json) {
    this.json = json;
  }

  public static McpBody text(String uri, String mimeType, String text) {
    return new McpBody(at(uri, mimeType).put("text", Objects.requireNonNull(text, "text")));
  }

  public static McpBody bytes(String uri, String mimeType, byte[] bytes) {
    return new McpBody(
        at(uri, mimeType)
            .put(
                "blob",
                Base64.getEncoder().encodeToString(Objects.requireNonNull(bytes, "bytes"))));
  }

  /** The same with a value added to its {@code _meta}. */
  public McpBody meta(String key, JsonNode value) {
    ObjectNode more = json.deepCopy();
    more.withObjectProperty("_meta").set(key, value);
    return new McpBody(more);
  }

  private static ObjectNode at(String uri, String mimeType) {
    return Json.object()
        .put("uri", Objects.requireNonNull(uri, "uri"))
        .put("mimeType", Objects.requireNonNull(mimeType, "mimeType"));
  }

  public ObjectNode json() {
    return json;
  }
}

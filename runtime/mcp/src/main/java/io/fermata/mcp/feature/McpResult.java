package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The result of a tool. */
public final class McpResult {
  private final List<McpContent> content;
  private final @Nullable JsonNode structured;
  private final boolean error;
  private final ObjectNode meta;

  private McpResult(
      List<McpContent> content, @Nullable JsonNode structured, boolean error, ObjectNode meta) {
    this.content = content;
    this.structured = structured;
    this.error = error;
    this.meta = meta;
  }

  public static McpResult text(String text) {
    return of(McpContent.text(text));
  }

  public static McpResult of(McpContent... content) {
    return new McpResult(List.of(content), null, false, Json.object());
  }

  /** A structured value, repeated as text for clients that read only text. */
  public static McpResult structured(Object value) {
    JsonNode tree = Json.tree(value);
    return new McpResult(List.of(McpContent.text(Json.text(tree))), tree, false, Json.object());
  }

  /** A structured value, with content to show beside it. */
  public static McpResult structured(Object value, McpContent... content) {
    return new McpResult(List.of(content), Json.tree(value), false, Json.object());
  }

  /** An error for the model: say what is wrong and how to correct it. */
  public static McpResult error(String text) {
    return new McpResult(List.of(McpContent.text(text)), null, true, Json.object());
  }

  /** The same with a value added to its {@code _meta}. */
  public McpResult meta(String key, JsonNode value) {
    ObjectNode more = meta.deepCopy();
    more.set(Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
    return new McpResult(content, structured, error, more);
  }

  public List<McpContent> content() {
    return content;
  }

  public @Nullable JsonNode structured() {
    return structured;
  }

  public boolean error() {
    return error;
  }

  public ObjectNode meta() {
    return meta;
  }
}

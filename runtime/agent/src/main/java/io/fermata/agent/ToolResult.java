package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a tool's call came to.
 *
 * @param text what the model is told, of a success or of a failure
 * @param code a stable name of the failure; null if it has none
 * @param data what belongs to the failure or the success besides; null if nothing
 * @param attachments files to keep with the thread; the model is told their paths
 */
public record ToolResult(
    boolean failed,
    @Nullable String text,
    @Nullable String code,
    @Nullable JsonNode data,
    List<Attachment> attachments) {

  /** A success. A text is told as it is, anything else as JSON, null as a success without words. */
  public static ToolResult success(@Nullable Object result) {
    String text =
        result == null || result instanceof String ? (String) result : Json.text(Json.tree(result));
    return new ToolResult(false, text, null, null, List.of());
  }

  public static ToolResult error(String message) {
    return new ToolResult(true, message, null, null, List.of());
  }

  public static ToolResult error(String code, String message) {
    return new ToolResult(true, message, code, null, List.of());
  }

  public ToolResult attach(Attachment... files) {
    return new ToolResult(failed, text, code, data, List.of(files));
  }

  public ToolResult withText(String told) {
    return new ToolResult(failed, told, code, data, attachments);
  }

  public ToolResult withData(JsonNode value) {
    return new ToolResult(failed, text, code, value, attachments);
  }
}

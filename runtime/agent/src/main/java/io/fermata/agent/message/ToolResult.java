package io.fermata.agent.message;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a call of a tool.
 *
 * @param text what the model reads
 * @param code a stable name of the failure; null if it has none
 * @param data additional data; null if there is none
 * @param attachments files to keep with the thread; the model reads their paths. Of equal names all
 *     but the first get a number
 */
public record ToolResult(
    boolean failed,
    @Nullable String text,
    @Nullable String code,
    @Nullable JsonNode data,
    List<Attachment> attachments) {
  /** Begins what a model reads of a failure. */
  public static final String FAILED = "Failed to execute tool: ";

  public ToolResult {
    text = text == null ? null : Texts.sound(text);
    code = code == null ? null : Texts.sound(code);
    data = Json.copy(data);
    attachments = Attachment.numbered(attachments);
  }

  /** A copy. */
  @Override
  public @Nullable JsonNode data() {
    return data == null ? null : data.deepCopy();
  }

  /** A success. A text is passed as it is, anything else as JSON; null has no text. */
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

  public ToolResult withText(String value) {
    return new ToolResult(failed, value, code, data, attachments);
  }

  public ToolResult withData(JsonNode value) {
    return new ToolResult(failed, text, code, value, attachments);
  }
}

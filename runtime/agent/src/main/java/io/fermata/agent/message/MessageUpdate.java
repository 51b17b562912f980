package io.fermata.agent.message;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import org.jspecify.annotations.Nullable;

/** An update of a message; null components stay unchanged. */
public record MessageUpdate(
    @Nullable String content, @Nullable Boolean silent, @Nullable JsonNode metadata) {
  public MessageUpdate {
    content = content == null ? null : Texts.sound(content);
    metadata = Json.copy(metadata);
  }

  /** A copy. */
  @Override
  public @Nullable JsonNode metadata() {
    return metadata == null ? null : metadata.deepCopy();
  }

  public static MessageUpdate content(String value) {
    return new MessageUpdate(value, null, null);
  }

  public static MessageUpdate silent(boolean value) {
    return new MessageUpdate(null, value, null);
  }

  public Message of(Message message) {
    Message changed = content == null ? message : message.withContent(content);
    changed = silent == null ? changed : changed.silent(silent);
    return metadata == null ? changed : changed.withMetadata(metadata);
  }
}

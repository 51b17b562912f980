package io.fermata.agent.message;

import io.fermata.flow.json.Texts;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A file of a message or a tool's result, before it is stored with the thread.
 *
 * @param data its bytes; never changed
 */
@SuppressWarnings("ArrayRecordComponent") // copies would be large
public record Attachment(String name, String mimeType, byte[] data) {
  public Attachment {
    name = Texts.sound(name);
    mimeType = Texts.sound(mimeType);
  }

  /** The path of a message's attachment. */
  public String path(String messageId) {
    return FilePaths.clean("/attachments/" + messageId + "/" + name);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Attachment attachment
        && name.equals(attachment.name)
        && mimeType.equals(attachment.mimeType)
        && Arrays.equals(data, attachment.data);
  }

  @Override
  public int hashCode() {
    return name.hashCode();
  }
}

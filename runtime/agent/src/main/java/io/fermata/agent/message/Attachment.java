package io.fermata.agent.message;

/**
 * A file that comes with a message or a tool's result, before it is kept with the thread.
 *
 * @param data its bytes; never changed
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares attachments, and copies would be large
public record Attachment(String name, String mimeType, byte[] data) {
  /** Where it is kept that came with a message. */
  public String path(String messageId) {
    return FilePaths.clean("/attachments/" + messageId + "/" + name);
  }
}

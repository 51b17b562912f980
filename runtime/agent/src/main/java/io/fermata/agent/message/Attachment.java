package io.fermata.agent.message;

/**
 * A file of a message or a tool's result, before it is stored with the thread.
 *
 * @param data its bytes; never changed
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares attachments, and copies would be large
public record Attachment(String name, String mimeType, byte[] data) {
  /** The path of a message's attachment. */
  public String path(String messageId) {
    return FilePaths.clean("/attachments/" + messageId + "/" + name);
  }
}

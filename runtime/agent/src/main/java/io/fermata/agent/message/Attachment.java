package io.fermata.agent.message;

import io.fermata.flow.json.Texts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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
  String path(String messageId) {
    return FilePaths.clean("/attachments/" + messageId + "/" + name);
  }

  /** Distinguishes files by their type and bytes. */
  public String digest() {
    return mimeType + " " + Fingerprint.of(data);
  }

  /** The files with a number in each name that another one has before it. */
  static List<Attachment> numbered(List<Attachment> files) {
    Set<String> all = new HashSet<>();
    files.forEach(file -> all.add(file.name.stripTrailing()));
    Set<String> before = new HashSet<>();
    List<Attachment> numbered = new ArrayList<>();
    for (Attachment file : files) {
      String name = file.name.stripTrailing();
      boolean first = before.add(name);
      for (int n = 2; !first && !all.add(name); n++) {
        name = numbered(file.name.stripTrailing(), n);
      }
      numbered.add(first ? file : new Attachment(name, file.mimeType, file.data));
    }
    return List.copyOf(numbered);
  }

  private static String numbered(String name, int n) {
    int dot = name.lastIndexOf('.');
    int end = dot > name.lastIndexOf('/') + 1 ? dot : name.length();
    return name.substring(0, end) + "-" + n + name.substring(end);
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

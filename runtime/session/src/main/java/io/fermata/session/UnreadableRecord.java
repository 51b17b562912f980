package io.fermata.session;

import java.io.NotSerializableException;
import org.jspecify.annotations.Nullable;

/** A journal holds what this release cannot read. It says what, and what to do. */
final class UnreadableRecord extends NotSerializableException {
  private static final long serialVersionUID = 1;

  UnreadableRecord(String manifest, String why, String repair, @Nullable Throwable cause) {
    super("The journal holds a record " + manifest + why + "; " + repair);
    initCause(cause);
  }

  /** What made reading a journal fail, if it was this; null if it was something else. */
  static @Nullable UnreadableRecord in(@Nullable Throwable thrown) {
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnreadableRecord unreadable) {
        return unreadable;
      }
    }
    return null;
  }
}

package io.fermata.session.journal;

import java.io.NotSerializableException;
import org.jspecify.annotations.Nullable;

/** A journal holds what this release cannot read. It says what, and what to do. */
public final class UnreadableEntry extends NotSerializableException {
  private static final long serialVersionUID = 1;

  UnreadableEntry(String manifest, String why, String repair, @Nullable Throwable cause) {
    super("The journal holds a record " + manifest + why + "; " + repair);
    initCause(cause);
  }
}

package io.fermata.session.journal;

import java.io.NotSerializableException;
import org.jspecify.annotations.Nullable;

/**
 * A journal has an entry that this release cannot read. The message names the entry and the repair.
 */
public final class UnreadableEntry extends NotSerializableException {
  private static final long serialVersionUID = 1;

  UnreadableEntry(String manifest, String why, String repair, @Nullable Throwable cause) {
    super("The journal has an entry " + manifest + why + "; " + repair);
    initCause(cause);
  }
}

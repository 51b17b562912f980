package io.fermata.session.journal;

import io.fermata.flow.event.Outcome;
import io.fermata.session.key.HostError;
import org.jspecify.annotations.Nullable;

/**
 * A journal has an entry that this release cannot read. The message names the entry and the repair.
 */
public final class UnreadableEntry extends RuntimeException {
  private static final long serialVersionUID = 1;

  UnreadableEntry(String manifest, String why, String repair, @Nullable Throwable cause) {
    super("The journal has an entry " + manifest + why + "; " + repair, cause);
  }

  /** What calls of the session get. */
  public Outcome.Failure failure() {
    return HostError.JOURNAL_UNREADABLE.failure();
  }
}

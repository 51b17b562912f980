package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import org.jspecify.annotations.Nullable;

/** A request rests on what a database had before it was restarted or replaced. */
final class ReplacedException extends StoreException {

  private static final long serialVersionUID = 1L;

  ReplacedException() {
    super(
        StoreProblem.AWAY,
        "The store was restarted or replaced while this request waited for it; nothing of this"
            + " request was written; retry",
        (@Nullable Throwable) null);
  }
}

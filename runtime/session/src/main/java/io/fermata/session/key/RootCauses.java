package io.fermata.session.key;

import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Finds the causes of failures. */
public final class RootCauses {
  private RootCauses() {}

  /** The first cause of a kind; null if there is none. */
  public static <T extends Throwable> @Nullable T find(@Nullable Throwable thrown, Class<T> kind) {
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (kind.isInstance(cause)) {
        return kind.cast(cause);
      }
    }
    return null;
  }

  /** The failure without the wrapper of a stage. */
  public static Throwable of(Throwable thrown) {
    Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : null;
    return cause == null ? thrown : cause;
  }
}

package io.fermata.session.key;

import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Why something failed. */
public final class RootCauses {
  private RootCauses() {}

  /** What made it fail, if it was of a kind; null if it was something else. */
  public static <T extends Throwable> @Nullable T find(@Nullable Throwable thrown, Class<T> kind) {
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (kind.isInstance(cause)) {
        return kind.cast(cause);
      }
    }
    return null;
  }

  /** What failed, without what a stage wraps it in. */
  public static Throwable of(Throwable thrown) {
    Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : null;
    return cause == null ? thrown : cause;
  }
}

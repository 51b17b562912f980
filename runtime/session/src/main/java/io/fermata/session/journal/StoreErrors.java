package io.fermata.session.journal;

import io.fermata.flow.event.Outcome;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Translates failures to read from a store into error codes. */
public final class StoreErrors {
  private StoreErrors() {}

  /**
   * Fails with a {@link ThreadException}: {@code not_kept} where the store has no history or lists,
   * that of {@link #failureOf}, or {@code store_unavailable} where the store failed. Call it on the
   * stage that has decoded what was read.
   */
  public static <T> CompletionStage<T> translated(CompletionStage<T> stage) {
    return stage.exceptionallyCompose(thrown -> CompletableFuture.failedFuture(translated(thrown)));
  }

  private static Throwable translated(Throwable thrown) {
    Throwable cause = RootCauses.of(thrown);
    if (cause instanceof ThreadException) {
      return cause;
    } else if (cause instanceof NoHistoryException lost) {
      return new ThreadException(HostError.NOT_KEPT, String.valueOf(lost.getMessage()));
    }
    Outcome.Failure failure = failureOf(thrown);
    StoreException failed = RootCauses.find(thrown, StoreException.class);
    if (failure == null && failed != null) {
      failure = HostError.STORE_UNAVAILABLE.failure();
    }
    return failure == null ? thrown : new ThreadException(failure).initCause(thrown);
  }

  /** Why a journal cannot be read, as calls of its session get it; null if it is not for that. */
  public static Outcome.@Nullable Failure failureOf(Throwable thrown) {
    EncryptionException encrypted = RootCauses.find(thrown, EncryptionException.class);
    DamagedException damaged = RootCauses.find(thrown, DamagedException.class);
    UnreadableEntry unreadable = RootCauses.find(thrown, UnreadableEntry.class);
    if (encrypted != null) {
      return encrypted.failure();
    } else if (damaged != null) {
      return HostError.damaged(damaged);
    }
    return unreadable == null ? null : unreadable.failure();
  }
}

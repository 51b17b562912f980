package io.fermata.session.journal;

import io.fermata.flow.event.Outcome;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Translates failures of a store into error codes: {@code not_kept} where it has no history or
 * lists, {@code damaged} where it holds something else than was written.
 */
public final class StoreErrors {
  private StoreErrors() {}

  public static <T> CompletionStage<T> translated(CompletionStage<T> stage) {
    return stage.exceptionallyCompose(
        thrown -> CompletableFuture.failedFuture(translated(RootCauses.of(thrown), thrown)));
  }

  private static Throwable translated(Throwable cause, Throwable thrown) {
    if (cause instanceof NoHistoryException lost) {
      return new ThreadException("not_kept", String.valueOf(lost.getMessage()));
    } else if (cause instanceof DamagedException damaged) {
      Outcome.Failure failure = HostError.damaged(damaged);
      return new ThreadException(failure.code(), failure.message());
    }
    return thrown;
  }
}

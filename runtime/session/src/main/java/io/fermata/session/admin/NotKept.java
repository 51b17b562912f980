package io.fermata.session.admin;

import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.session.key.RootCauses;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Translates the failure of a store without history or lists into the error code {@code not_kept}.
 */
public final class NotKept {
  private NotKept() {}

  public static <T> CompletionStage<T> translated(CompletionStage<T> stage) {
    return stage.exceptionallyCompose(
        thrown ->
            CompletableFuture.failedFuture(
                RootCauses.of(thrown) instanceof NoHistoryException lost
                    ? new ThreadException("not_kept", String.valueOf(lost.getMessage()))
                    : thrown));
  }
}

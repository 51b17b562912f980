package io.fermata.session.admin;

import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.session.key.RootCauses;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Not every store has a history, or can list what it has; callers are told with a code. */
public final class NotKept {
  private NotKept() {}

  public static <T> CompletionStage<T> told(CompletionStage<T> stage) {
    return stage.exceptionallyCompose(
        thrown ->
            CompletableFuture.failedFuture(
                RootCauses.of(thrown) instanceof NoHistoryException lost
                    ? new ThreadException("not_kept", String.valueOf(lost.getMessage()))
                    : thrown));
  }
}

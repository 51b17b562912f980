package io.fermata.session;

import io.fermata.persistence.NoHistoryException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Not every store has a history, or can list what it has; callers are told with a code. */
final class NotKept {
  private NotKept() {}

  static <T> CompletionStage<T> told(CompletionStage<T> stage) {
    return stage.exceptionallyCompose(
        thrown ->
            CompletableFuture.failedFuture(
                Causes.of(thrown) instanceof NoHistoryException lost
                    ? new ThreadException("not_kept", String.valueOf(lost.getMessage()))
                    : thrown));
  }
}

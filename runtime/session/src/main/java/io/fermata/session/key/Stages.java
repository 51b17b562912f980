package io.fermata.session.key;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** Waits for stages, on threads that may block. */
public final class Stages {
  private Stages() {}

  /**
   * Waits for the value.
   *
   * @throws CompletionException if it fails
   */
  public static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  /**
   * Waits for all, even if one fails.
   *
   * @throws CompletionException if one fails
   */
  public static void all(Collection<? extends CompletionStage<?>> stages) {
    CompletableFuture<?>[] all =
        stages.stream().map(CompletionStage::toCompletableFuture).toArray(CompletableFuture[]::new);
    CompletableFuture.allOf(all).join();
  }
}

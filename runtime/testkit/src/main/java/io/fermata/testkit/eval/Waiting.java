package io.fermata.testkit.eval;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for a host in this process. */
final class Waiting {
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private Waiting() {}

  static <T> T await(CompletionStage<T> stage) throws InterruptedException {
    return await(stage, Duration.ZERO);
  }

  /**
   * @param more how much longer than usual it may take
   */
  static <T> T await(CompletionStage<T> stage, Duration more) throws InterruptedException {
    Duration limit = LIMIT.plus(more);
    try {
      return stage.toCompletableFuture().get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof RuntimeException known) {
        throw known;
      }
      throw new IllegalStateException("The host of a trial failed", cause);
    } catch (TimeoutException e) {
      throw new IllegalStateException("The host of a trial did not reply within " + limit, e);
    }
  }
}

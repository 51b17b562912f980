package io.fermata.mcp.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.rpc.RpcException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The limit of calls in flight. */
@Timeout(60)
class HandlerExecutorTest {
  @Test
  void aCallThatIsCancelledCountsUntilItEnds() {
    CompletableFuture<Void> begun = new CompletableFuture<>();
    CompletableFuture<Void> released = new CompletableFuture<>();
    try (HandlerExecutor workers =
        new HandlerExecutor(HandlerExecutor.THREADS, Integer.MAX_VALUE)) {
      Future<?> stubborn =
          workers.run(
              "ann",
              () -> {
                begun.complete(null);
                return released.join();
              },
              ended -> {});
      begun.join();
      for (int i = 1; i < 10_000; i++) {
        assertThat(workers.run("ann", released::join, ended -> {})).isNotCancelled();
      }

      stubborn.cancel(true);

      assertThatThrownBy(() -> workers.run("ann", () -> "", ended -> {}))
          .isInstanceOf(RpcException.class);
      released.complete(null);
    }
  }
}

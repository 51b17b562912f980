package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.spi.Shard;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class PostgresShardsTest {
  private static final int LAST = Shard.COUNT - 1;

  @Test
  void aShardIsHeldWhileOthersAreTakenAndReleased() {
    PostgresShards shards = PostgresShards.shared();
    shards.taken(LAST, 7);
    CompletableFuture<Void> others =
        CompletableFuture.runAsync(
            () -> {
              for (int round = 0; round < 2_000; round++) {
                for (int shard = 0; shard < LAST; shard++) {
                  shards.taken(shard, 1);
                }
                for (int shard = 0; shard < LAST; shard++) {
                  shards.released(shard);
                }
              }
            });

    while (!others.isDone()) {
      assertThat(shards.epochs(List.of(LAST))).containsEntry(LAST, 7L);
    }
    others.join();
  }
}

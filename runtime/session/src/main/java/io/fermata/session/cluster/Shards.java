package io.fermata.session.cluster;

import io.fermata.persistence.spi.Shard;
import io.fermata.session.actor.Placement;
import io.fermata.session.actor.SessionCommand;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The shards that this host runs, and the way to those of other hosts. */
final class Shards implements Placement {
  private final AtomicReferenceArray<@Nullable Boolean> here =
      new AtomicReferenceArray<>(Shard.COUNT);
  private volatile @Nullable Forwarding forwarding;

  /** Sends commands to other hosts. */
  interface Forwarding {
    void forward(String entityId, SessionCommand command);
  }

  void forwardBy(Forwarding how) {
    forwarding = how;
  }

  void open(int shard) {
    here.set(shard, true);
  }

  void close(int shard) {
    here.set(shard, null);
  }

  boolean isOpen(int shard) {
    return here.get(shard) != null;
  }

  int open() {
    return (int) IntStream.range(0, Shard.COUNT).filter(this::isOpen).count();
  }

  @Override
  public boolean isHere(String entityId) {
    return isOpen(Shard.of(entityId));
  }

  @Override
  public void forward(String entityId, SessionCommand command) {
    Objects.requireNonNull(forwarding, "The host has not joined its cluster")
        .forward(entityId, command);
  }
}

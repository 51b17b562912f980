package io.fermata.session.cluster;

import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.actor.Placement;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.key.SessionKey;
import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The shards that this host runs, and the way to those of other hosts. */
final class Shards implements Placement {
  private final AtomicReferenceArray<@Nullable Boolean> here =
      new AtomicReferenceArray<>(Shard.COUNT);
  private volatile @Nullable Forwarder forwarder;

  /** The flows and agents of this host that other hosts do not have yet, as keys begin. */
  private volatile Set<String> awaited = Set.of();

  private final SharedStore store;
  private final Duration handOver;
  private volatile boolean departing;

  Shards(SharedStore store, Duration handOver) {
    this.store = store;
    this.handOver = handOver;
  }

  /** How long a session may work on when its shard moves. */
  Duration handOver() {
    return handOver;
  }

  /** The callers of this host have their replies, and all its shards move. */
  void depart() {
    departing = true;
  }

  @Override
  public Duration waitsBeforeItMoves() {
    return departing ? Duration.ZERO : handOver;
  }

  /** Hosts have agreed on what they run. */
  void agreed(Offers mine, Offers all) {
    Set<String> early = new HashSet<>(mine.flows().keySet());
    early.removeAll(all.flows().keySet());
    mine.agents().stream()
        .filter(agent -> !all.agents().contains(agent))
        .map(SessionKey::ofAgent)
        .forEach(early::add);
    awaited = Set.copyOf(early);
  }

  @Override
  public boolean awaitsOthers(String entityId) {
    Set<String> early = awaited;
    return !early.isEmpty() && early.contains(SessionKey.flowOf(entityId));
  }

  void forwardBy(Forwarder how) {
    forwarder = how;
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

  /** How many are open here and were not taken by another host. */
  int held() {
    return (int) store.held().stream().filter(this::isOpen).count();
  }

  @Override
  public @Nullable CompletionStage<Boolean> confirm(String entityId) {
    int shard = Shard.of(entityId);
    return isOpen(shard) && store.isConfirmed(shard) ? null : store.confirm(shard);
  }

  @Override
  public boolean isHere(String entityId) {
    return isOpen(Shard.of(entityId));
  }

  @Override
  public boolean isHeld(String entityId) {
    int shard = Shard.of(entityId);
    return isOpen(shard) && store.held().contains(shard);
  }

  @Override
  public void forward(String entityId, SessionCommand command) {
    forwarder().forward(entityId, command);
  }

  private Forwarder forwarder() {
    return Objects.requireNonNull(forwarder, "The host has not joined its cluster");
  }
}

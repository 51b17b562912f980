package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.coordination.lease.LeaseSettings;
import org.apache.pekko.coordination.lease.TimeoutSettings;
import org.apache.pekko.coordination.lease.javadsl.Lease;

/**
 * A lease that is kept in the store that the hosts share. In a partition it decides which side
 * stays; the store's epochs, not the lease, keep the other side from writing.
 *
 * <p>It is not renewed in the background but expires by itself, so each decision acquires it again:
 * a side that believed in an older one might remove the hosts that have it by now.
 *
 * <p>Only the store says that another side has it. While the store is away nobody can know, and a
 * host that took that for a refusal would remove itself and all that it reaches.
 */
public final class StoreLease extends Lease {
  private final SharedStore store;
  private final LeaseSettings settings;
  private final BooleanSupplier over;

  /** Passes the store to the actor system, which creates leases by the name of this class. */
  static final class StoreSetup extends Setup {
    private final SharedStore store;

    StoreSetup(SharedStore store) {
      this.store = store;
    }
  }

  /** Created by the actor system, as its configuration names this class. */
  public StoreLease(LeaseSettings settings, ExtendedActorSystem system) {
    this(
        settings,
        Objects.requireNonNull(
                system.settings().setup().get(StoreSetup.class).orElse(null),
                "The actor system has the configuration of a cluster but no shared store")
            .store,
        () -> Cluster.get(system).isTerminated());
  }

  /**
   * @param over whether nobody waits for the lease any more
   */
  StoreLease(LeaseSettings settings, SharedStore store, BooleanSupplier over) {
    this.settings = settings;
    this.store = store;
    this.over = over;
  }

  @Override
  public LeaseSettings getSettings() {
    return settings;
  }

  @Override
  public CompletionStage<Boolean> acquire() {
    TimeoutSettings times = settings.timeoutSettings();
    return store
        .lease(settings.leaseName(), settings.ownerName(), times.getHeartbeatTimeout())
        .toCompletableFuture()
        .orTimeout(times.getOperationTimeout().toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(
            failure ->
                over.getAsBoolean() ? CompletableFuture.failedFuture(failure) : acquireLater());
  }

  private CompletableFuture<Boolean> acquireLater() {
    Executor later =
        CompletableFuture.delayedExecutor(
            settings.timeoutSettings().getHeartbeatInterval().toMillis(), TimeUnit.MILLISECONDS);
    return CompletableFuture.supplyAsync(this::acquire, later).thenCompose(acquired -> acquired);
  }

  @Override
  public CompletionStage<Boolean> acquire(Consumer<Optional<Throwable>> lost) {
    return acquire();
  }

  /** A release might overtake the next acquisition, which is asked for independently of it. */
  @Override
  public CompletionStage<Boolean> release() {
    return CompletableFuture.completedFuture(true);
  }

  @Override
  public boolean checkLease() {
    return false;
  }
}

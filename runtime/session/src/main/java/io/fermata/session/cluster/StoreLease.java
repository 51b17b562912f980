package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.coordination.lease.LeaseSettings;
import org.apache.pekko.coordination.lease.javadsl.Lease;

/**
 * A lease that is kept in the store that the hosts share. In a partition it decides which side
 * stays; the store's epochs, not the lease, keep the other side from writing.
 */
public final class StoreLease extends Lease {
  private final SharedStore store;
  private final LeaseSettings settings;
  private final AtomicBoolean held = new AtomicBoolean();

  /** Created by the actor system, as its configuration names this class. */
  public StoreLease(LeaseSettings settings, ExtendedActorSystem system) {
    this.settings = settings;
    this.store = ClusterSetup.of(system).store();
  }

  @Override
  public LeaseSettings getSettings() {
    return settings;
  }

  @Override
  public CompletionStage<Boolean> acquire() {
    return store
        .lease(
            settings.leaseName(),
            settings.ownerName(),
            settings.timeoutSettings().getHeartbeatTimeout())
        .thenApply(
            taken -> {
              held.set(taken);
              return taken;
            });
  }

  /** A lease that expires is not renewed: a decision about a partition needs it for a moment. */
  @Override
  public CompletionStage<Boolean> acquire(Consumer<Optional<Throwable>> lost) {
    return acquire();
  }

  @Override
  public CompletionStage<Boolean> release() {
    held.set(false);
    return store.endLease(settings.leaseName(), settings.ownerName()).thenApply(ended -> true);
  }

  @Override
  public boolean checkLease() {
    return held.get();
  }
}

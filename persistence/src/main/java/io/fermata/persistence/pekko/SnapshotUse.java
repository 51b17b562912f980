package io.fermata.persistence.pekko;

import java.util.function.BiPredicate;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.setup.Setup;

/**
 * Which snapshots the host of an actor system can use. Any other is left aside where the entries
 * suffice.
 */
public final class SnapshotUse extends Setup {
  private static final SnapshotUse OF_ALL = new SnapshotUse((persistenceId, snapshot) -> true);

  private final BiPredicate<String, Object> usable;

  /**
   * @param usable takes the persistence id and the deserialized snapshot
   */
  public SnapshotUse(BiPredicate<String, Object> usable) {
    this.usable = usable;
  }

  static SnapshotUse of(ActorSystem system) {
    return system.settings().setup().get(SnapshotUse.class).orElse(OF_ALL);
  }

  boolean isUsable(String persistenceId, Object snapshot) {
    return usable.test(persistenceId, snapshot);
  }
}

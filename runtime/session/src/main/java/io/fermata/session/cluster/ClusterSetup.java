package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import java.util.Objects;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.setup.Setup;

/** Passes the shared store to the parts that the actor system creates by their names. */
final class ClusterSetup extends Setup {
  private final SharedStore store;

  ClusterSetup(SharedStore store) {
    this.store = store;
  }

  SharedStore store() {
    return store;
  }

  static ClusterSetup of(ActorSystem system) {
    return Objects.requireNonNull(
        system.settings().setup().get(ClusterSetup.class).orElse(null),
        "The actor system has the configuration of a cluster but no shared store");
  }
}

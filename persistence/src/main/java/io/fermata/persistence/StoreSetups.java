package io.fermata.persistence;

import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.setup.Setup;

/** Finds what {@link OpenStore#setup()} gave to an actor system. */
final class StoreSetups {

  private StoreSetups() {}

  static <T extends Setup> T of(ActorSystem system, Class<T> type) {
    return system
        .settings()
        .setup()
        .get(type)
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "The actor system "
                        + system.name()
                        + " has the configuration of a store but not the store; create it with"
                        + " ActorSystemSetup.create(BootstrapSetup.create(config), store.setup())"));
  }
}

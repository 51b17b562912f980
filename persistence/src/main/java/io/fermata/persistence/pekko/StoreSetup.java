package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.OpenStore;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.setup.Setup;

/** Carries the journals of a store to the plugins of an actor system. */
public final class StoreSetup extends Setup {

  private final StoreJournals journals;
  private final ChainTips tips;
  private final SessionTroubles unwritten =
      new SessionTroubles(System::nanoTime, "could not be written");

  public StoreSetup(StoreJournals journals) {
    this.journals = journals;
    this.tips = new ChainTips(journals);
  }

  public StoreJournals journals() {
    return journals;
  }

  ChainTips tips() {
    return tips;
  }

  SessionTroubles unwritten() {
    return unwritten;
  }

  /** What an actor system got from {@link OpenStore#setup()}. */
  public static StoreSetup of(ActorSystem system) {
    return system
        .settings()
        .setup()
        .get(StoreSetup.class)
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "The actor system "
                        + system.name()
                        + " has the configuration of a store but not the store; create it with"
                        + " ActorSystemSetup.create(BootstrapSetup.create(config),"
                        + " store.setup())"));
  }
}

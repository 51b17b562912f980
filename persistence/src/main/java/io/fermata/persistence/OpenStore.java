package io.fermata.persistence;

import com.typesafe.config.Config;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.setup.Setup;

/**
 * A store opened by one host: what its actor system needs to keep journals there, and the care of
 * the journals themselves.
 *
 * <p>Create the actor system with both halves, {@code
 * ActorSystemSetup.create(BootstrapSetup.create(store.config().withFallback(rest)),
 * store.setup())}. Close the store after the actor system has terminated.
 *
 * <p>The stages returned here complete on the store's own thread, which also writes the journals:
 * continue on an executor of your own.
 */
public interface OpenStore extends AutoCloseable {

  /** The store in one line, as {@link Store#parse(String)} reads it. */
  String describe();

  /**
   * The journal and snapshot plugins and their settings. It is not complete on its own: give it the
   * application's configuration as fallback.
   */
  Config config();

  /** Hands the live store to the plugins of the one actor system it is given to. */
  Setup setup();

  /**
   * 32 random bytes that belong to this store, for signing what must still be valid after a
   * restart. Created with the store and kept in it.
   */
  byte[] serverKey();

  /**
   * The persistence ids of the journals whose last record is tagged {@link JournalTags#WORKING}.
   */
  CompletionStage<List<String>> working();

  /**
   * The journals whose last record carries a tag of {@link JournalTags#due} with that time or an
   * earlier one, the earliest first.
   *
   * <p>Times that a journal has left behind with a later record are forgotten on the way once they
   * have passed, so that however many there were they are looked at once.
   *
   * @param untilEpochMillis the latest time of interest, in milliseconds since 1970
   * @param max how many are listed at most
   */
  CompletionStage<List<Due>> due(long untilEpochMillis, int max);

  /**
   * Deletes, in one transaction, what lies before the newest record tagged {@link
   * JournalTags#ENDED} of each journal: events, their tags and snapshots. The newest record of a
   * journal always stays. The tag goes too, in the same transaction, so sweeping when no run has
   * ended since costs one look at an index, and what a crash left unswept is found by the next
   * sweep.
   *
   * @return how many journals were swept; a large backlog takes several calls
   */
  CompletionStage<Integer> sweep();

  /**
   * Finishes what is under way and frees the store for the next host. Call it after the actor
   * system terminated; calling it again does nothing.
   */
  @Override
  void close();
}

package io.fermata.persistence.spi;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.setup.Setup;
import org.jspecify.annotations.Nullable;

/**
 * A store opened by one host: what its actor system needs to keep journals there, and the care of
 * the journals themselves.
 *
 * <p>Create the actor system with both halves, {@code
 * ActorSystemSetup.create(BootstrapSetup.create(store.config().withFallback(rest)),
 * store.setup())}. Close the store after the actor system has terminated.
 *
 * <p>The stages returned here and by the {@link #directory()} complete on the store's own threads,
 * which also read and write the journals: continue on an executor of your own. Arguments that make
 * no sense are refused at once by an {@link IllegalArgumentException}.
 */
public interface OpenStore extends AutoCloseable {

  /** How many records of a journal can be read at once. */
  int MAX_ENTRIES = 1_000;

  /** The store in one line, as {@link io.fermata.persistence.Store#parse(String)} reads it. */
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
   * Whether its journals and its directory can be listed and searched. What asks one for that which
   * cannot is answered with a {@link NoHistoryException}.
   */
  default boolean supportsListing() {
    return true;
  }

  /**
   * How many records there may be between two snapshots of a session in this store, given what its
   * host wishes.
   */
  default int snapshotEvery(int wished) {
    return wished;
  }

  /**
   * A session is about to wake whose name was just made up at random, so that there can be no
   * journal of it. Spares a store the look for one; a store may as well look.
   */
  default void expectNew(String persistenceId) {}

  /**
   * The persistence ids of the journals whose last record is tagged {@link JournalTags#UNFINISHED}.
   */
  CompletionStage<List<String>> unfinished();

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
   * Deletes, in one transaction, what lies before the newest record of each journal whose tag
   * {@link JournalTags#sweep} has a time that has come: events, their tags and snapshots. The tag
   * goes too, so sweeping when no run has ended since costs one look at an index, and what a crash
   * left unswept is found by the next sweep.
   *
   * <p>A journal whose last record carries a tag {@link JournalTags#forget} with such a time is
   * deleted whole, with its entry in the directory; any other keeps its newest record. The entries
   * of parts of a journal go with the records up to which they were entered.
   *
   * <p>An end never takes an earlier one with it whose own {@link JournalTags#sweep} is still to
   * come: it waits for that time.
   *
   * <p>Tags {@link JournalTags#UNFINISHED} that a later record left behind go as well, so that
   * {@link #unfinished()} looks at few however long the journals are.
   *
   * @param nowEpochMillis the time, in milliseconds since 1970
   * @return how many journals were swept or forgotten; a large backlog takes several calls
   */
  CompletionStage<Integer> sweep(long nowEpochMillis);

  /**
   * Records of a journal as they were committed, the first of them first, without waking its actor.
   * What is read costs, and not how much there is, and no writer waits for it. A journal that does
   * not exist has no records.
   *
   * <p>A store that keeps no history has the latest records only. Asked for earlier ones it answers
   * with a {@link NoHistoryException}.
   *
   * @param fromSeq the lowest sequence number of interest
   * @param max how many are read at most, 1 to {@link #MAX_ENTRIES}
   */
  CompletionStage<List<StoredEntry>> read(String persistenceId, long fromSeq, int max);

  /**
   * Like {@link #read}, but the last of them first. A store that keeps no history ends where it
   * begins.
   *
   * @param beforeSeq the sequence number below which the records lie, {@link Long#MAX_VALUE} for
   *     the end of the journal
   */
  CompletionStage<List<StoredEntry>> readBack(String persistenceId, long beforeSeq, int max);

  /** Reads what is not there, and completes when the store has answered. */
  default CompletionStage<@Nullable Void> ping() {
    return read("~nobody", 1, 1).thenAccept(none -> {});
  }

  /** The highest number that any record of any journal has; 0 if there is none. */
  CompletionStage<Long> newest();

  /**
   * The journals that have a record with a number above the given one, in the order of those
   * numbers. A journal may be there several times. What is being written at this moment may come to
   * have a lower number than what is there already.
   *
   * @param max how many are listed at most, 1 to {@link #MAX_ENTRIES}
   */
  CompletionStage<List<Written>> written(long afterNumber, int max);

  /**
   * The persistence ids of journals, in an order that stays, each once.
   *
   * @param after the one after which to begin; empty for the first
   * @param max how many are listed at most, 1 to {@link #MAX_ENTRIES}
   */
  CompletionStage<List<String>> journals(String after, int max);

  /** What the journals of this store are about. One that keeps no history cannot list them. */
  Directory directory();

  /**
   * The persistence ids whose part behind the first bar begins with the given text, whatever lies
   * before the bar, of all journals, snapshots and entries of the directory. They are found by an
   * index.
   */
  CompletionStage<List<String>> journals(String place);

  /**
   * Deletes journals for good, in one transaction: their events with the tags, their snapshots and
   * the entries of the directory for them and their parts. To forget what is not there does
   * nothing.
   *
   * <p>Stop the actors of the journals before. One that still runs would go on at its own sequence
   * number in a journal that has lost its beginning. An actor that is started later with the same
   * persistence id begins a new journal at sequence number 1, and nothing tells the two apart.
   *
   * <p>What was deleted may still lie in the store's files until {@link #scrub} has been called.
   */
  CompletionStage<Deleted> delete(Collection<String> persistenceIds);

  /**
   * Leaves nothing of what was deleted in the files of an embedded store. What a database server
   * does with rows that were deleted is its own affair: this does nothing there.
   *
   * @return completes exceptionally if something else reads the file all the time
   */
  CompletionStage<@Nullable Void> scrub();

  /**
   * Writes a journal that another store had, in one transaction.
   *
   * @return how many records it has; completes exceptionally if there is a journal of that name
   */
  CompletionStage<Integer> importJournal(String persistenceId, List<NewEntry> records);

  /**
   * Copies an embedded store into a new file while it is in use, as it is at one moment. Writers do
   * not wait for it.
   *
   * @param file does not exist yet
   */
  CompletionStage<@Nullable Void> backup(Path file);

  /**
   * Finishes what is under way and frees the store for the next host. Call it after the actor
   * system terminated; calling it again does nothing.
   */
  @Override
  void close();
}

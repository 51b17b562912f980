package io.fermata.persistence.spi;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.setup.Setup;
import org.jspecify.annotations.Nullable;

/**
 * A store opened by one host: the plugins for its actor system, and the upkeep of its journals.
 *
 * <p>Create the actor system with both halves, {@code
 * ActorSystemSetup.create(BootstrapSetup.create(store.config().withFallback(rest)),
 * store.setup())}. Close the store after the actor system has terminated.
 *
 * <p>The stages returned here and by the {@link #directory()} complete on the store's own threads,
 * which also read and write the journals: continue on an executor of your own. Invalid arguments
 * are refused at once with an {@link IllegalArgumentException}.
 */
public interface OpenStore extends AutoCloseable {

  /** How many records of a journal can be read at once. */
  int MAX_ENTRIES = 1_000;

  /** The store in one line, as {@link io.fermata.persistence.Store#parse(String)} reads it. */
  String describe();

  /**
   * The settings of the journal and snapshot plugins. They are not complete: use the application's
   * configuration as fallback.
   */
  Config config();

  /** Passes the open store to the plugins of one actor system. */
  Setup setup();

  /**
   * 32 random bytes of this store, to sign what must stay valid across restarts. Created with the
   * store and stored in it.
   */
  byte[] serverKey();

  /**
   * Whether its journals and its directory can be listed and searched. If not, such requests fail
   * with a {@link NoHistoryException}.
   */
  default boolean supportsListing() {
    return true;
  }

  /** The number of records between two snapshots of a session in this store. */
  default int snapshotEvery(int wished) {
    return wished;
  }

  /**
   * Announces a session whose name was just generated at random, so that it has no journal. A store
   * may use this to skip the lookup.
   */
  default void expectNew(String persistenceId) {}

  /**
   * The journals whose last record is tagged {@link JournalTags#UNFINISHED}, in a stable order. One
   * that writes while they are read may occur again on a later page, and none is left out.
   *
   * @param after the cursor after which to start; empty for the first page
   * @param max the maximum number of results, 1 to {@link #MAX_ENTRIES}
   */
  CompletionStage<List<Unfinished>> unfinished(String after, int max);

  /**
   * The journals whose last record carries a tag of {@link JournalTags#due} with a time in a range.
   * Of each {@link Shard} they are the earliest, and all are listed in the order of their times. If
   * there are more, the next call begins with another shard. The cost depends on the tags in the
   * range, not on earlier ones.
   *
   * <p>Tags of past times that a later record made obsolete are deleted on the way, some with each
   * call.
   *
   * @param fromEpochMillis the earliest time, in milliseconds since 1970; 0 for all
   * @param untilEpochMillis the latest time
   * @param max the maximum number of results
   */
  CompletionStage<List<Due>> due(long fromEpochMillis, long untilEpochMillis, int max);

  /** As {@link #due(long, long, int)}, however early their times are. */
  default CompletionStage<List<Due>> due(long untilEpochMillis, int max) {
    return due(0, untilEpochMillis, max);
  }

  /**
   * In small transactions, deletes everything before the newest record of each journal whose {@link
   * JournalTags#sweep} time has passed: events, their tags and snapshots. The tag is deleted too,
   * so a sweep without work costs two index lookups, and the next sweep finds what a crash left.
   *
   * <p>A record whose {@link JournalTags#forget} time has passed is deleted with everything before
   * it and all snapshots, and if it is the last, with its entry in the directory. The entries of
   * parts of a journal are deleted with the records that they describe.
   *
   * <p>An end whose earlier ends have a later {@link JournalTags#sweep} time is postponed to that
   * time.
   *
   * <p>{@link JournalTags#UNFINISHED} tags that a later record made obsolete are deleted as well,
   * some with each sweep that follows a write, so {@link #unfinished} stays fast however long the
   * journals are.
   *
   * @param nowEpochMillis the time, in milliseconds since 1970
   * @return how many journals were swept or deleted; a large backlog takes several calls
   */
  CompletionStage<Integer> sweep(long nowEpochMillis);

  /**
   * The committed records of a journal, oldest first, without waking its actor. The cost depends on
   * what is read, not on the length of the journal, and writers are not delayed. A journal that
   * does not exist has no records.
   *
   * <p>A store without history has only the latest records; reading earlier ones fails with a
   * {@link NoHistoryException}.
   *
   * @param fromSeq the lowest sequence number
   * @param max the maximum number of results, 1 to {@link #MAX_ENTRIES}
   */
  default CompletionStage<List<StoredEntry>> read(String persistenceId, long fromSeq, int max) {
    return read(Slice.from(persistenceId, fromSeq, max));
  }

  /**
   * Like {@link #read(String, long, int)}, but newest first. A store without history stops at its
   * oldest record.
   *
   * @param beforeSeq the exclusive upper bound of the sequence numbers, {@link Long#MAX_VALUE} for
   *     the end of the journal
   */
  default CompletionStage<List<StoredEntry>> readBack(
      String persistenceId, long beforeSeq, int max) {
    return read(Slice.before(persistenceId, beforeSeq, max));
  }

  /** The committed records in a range of a journal, in its direction. */
  CompletionStage<List<StoredEntry>> read(Slice slice);

  /**
   * Writes a little, and completes when that is durable, or when another write became durable
   * meanwhile. Fails with a {@link StoreException} whose {@link StoreException#problem} says why
   * the store cannot be written.
   */
  CompletionStage<@Nullable Void> ping();

  /**
   * Completes if this host has lost the store for good: its file was deleted or replaced, or
   * another host took it over. Nothing is written any more, so the host should be restarted.
   */
  default CompletionStage<StoreProblem> lost() {
    return new CompletableFuture<>();
  }

  /** The highest number that any record of any journal of any host has; 0 if there is none. */
  CompletionStage<Long> newest();

  /**
   * The journals with a record whose number is above the given one, in the order of those numbers;
   * in a store that several hosts share, those of the shards that this host holds. A journal may
   * occur several times. A record that is being written may get a lower number than existing ones.
   *
   * @param max the maximum number of results, 1 to {@link #MAX_ENTRIES}
   */
  CompletionStage<List<Written>> written(long afterNumber, int max);

  /** As {@link #written}, of all shards, whichever host holds them. */
  default CompletionStage<List<Written>> writtenByAny(long afterNumber, int max) {
    return written(afterNumber, max);
  }

  /**
   * The persistence ids of journals, each once, in a stable order.
   *
   * @param after the id after which to start; empty for the first page
   * @param max the maximum number of results, 1 to {@link #MAX_ENTRIES}
   */
  CompletionStage<List<String>> journals(String after, int max);

  /** The directory of this store. A store without history cannot list it. */
  Directory directory();

  /**
   * The persistence ids of journals, snapshots and directory entries whose part after the first bar
   * begins with the given text. The lookup uses an index.
   */
  CompletionStage<List<String>> journals(String place);

  /**
   * Deletes journals permanently, in one transaction: their events and tags, their snapshots, and
   * the directory entries of them and their parts. Deleting a journal that does not exist does
   * nothing.
   *
   * <p>Stop the actors of the journals first: one that still runs would continue a journal without
   * its beginning. An actor that is started later with the same persistence id starts a new journal
   * at sequence number 1, indistinguishable from the old one.
   *
   * <p>In a store that several hosts share, delete journals on the host that holds their shards: it
   * deletes them after its pending changes of the directory, so none of these adds them again.
   *
   * <p>Deleted content may remain in the store's files until {@link #scrub} is called.
   */
  CompletionStage<Deleted> delete(Collection<String> persistenceIds);

  /**
   * Removes deleted content from the files of an embedded store. For a database server it does
   * nothing: the server decides when it overwrites deleted rows.
   *
   * <p>SQLite copies content from page to page, and may leave a copy in the unused part of a page
   * that is in use. Only {@link #rewrite} removes that.
   *
   * @return completes exceptionally if a reader keeps the file open
   */
  CompletionStage<@Nullable Void> scrub();

  /**
   * Removes deleted content from the files of an embedded store to the last copy. It takes as long
   * as the file is large, needs free space of twice its size, and all writes wait for it.
   *
   * @return completes exceptionally if there is too little space, or a reader keeps the file open
   */
  default CompletionStage<@Nullable Void> rewrite() {
    return scrub();
  }

  /**
   * Imports a journal of another store, in one transaction: nothing is left of an import that fails
   * or whose host is killed. A database has a part of the records in memory at a time.
   *
   * @param records are read once, during the transaction; if that fails, so does the import
   * @param listed the entry of the journal in the directory, which is written with it; null for
   *     none
   * @return the number of records; completes exceptionally if there is a journal of that name, or
   *     if a record does not follow the one before it
   */
  CompletionStage<Integer> importJournal(
      String persistenceId, Iterable<NewEntry> records, @Nullable DirectoryEntry listed);

  /**
   * As {@link #importJournal(String, Iterable, DirectoryEntry)}, without an entry in the directory.
   */
  default CompletionStage<Integer> importJournal(String persistenceId, Iterable<NewEntry> records) {
    return importJournal(persistenceId, records, null);
  }

  /**
   * Copies an embedded store at one moment into a new file, while it is in use. Writers are not
   * delayed.
   *
   * @param file does not exist yet
   */
  CompletionStage<@Nullable Void> backup(Path file);

  /** What its hosts agree on in a store that several hosts have open; empty for other stores. */
  default Optional<SharedStore> shared() {
    return Optional.empty();
  }

  /** The connection pools of this store, by name; a store without connections has none. */
  default List<StorePool> pools() {
    return List.of();
  }

  /**
   * Completes pending requests and releases the store for the next host. Call it after the actor
   * system has terminated; calling it again does nothing.
   */
  @Override
  void close();
}

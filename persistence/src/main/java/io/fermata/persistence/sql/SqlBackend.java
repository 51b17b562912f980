package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** The open database of a store: its connections and its SQL. */
public interface SqlBackend {

  Dialect dialect();

  /** See {@link StoreJournals#incarnation}. */
  default long incarnation() {
    return 0;
  }

  /** The statements of the plugins for this database. */
  SqlJournal journal();

  /** Runs work that appends to journals. */
  <T> CompletableFuture<T> append(Transactions.Work<T> work);

  /** For other changes of journals and snapshots. */
  Transactions journalWriter();

  /** For reading journals and snapshots of sessions that wake. */
  Transactions journalReader();

  /** For the store's own changes, in the order of the requests. */
  Transactions writer();

  /**
   * For what the host itself must read: due and unfinished sessions, and what was written. Not
   * behind the searches of operators.
   */
  Transactions upkeep();

  /**
   * For what users and agents read of one journal, and exports page by page: reads one snapshot of
   * the database with any number of statements. Not behind searches.
   */
  Transactions reader();

  /** For lists and searches. */
  Transactions searches();

  /**
   * The connection pools, for meters. Requests that wait for a batch wait for the pool that serves
   * it.
   *
   * @param appends those that wait to append to journals
   * @param wakes those of sessions that wake
   * @param changes those that wait for {@link #writer}
   */
  List<StorePool> pools(IntSupplier appends, IntSupplier wakes, IntSupplier changes);

  /** What hosts agree on that share the database; empty for a database of one host. */
  default Optional<SharedStore> shared() {
    return Optional.empty();
  }

  /** Completes if this host has lost the database for good. */
  CompletionStage<StoreProblem> lost();

  /** Overwrites deleted content, as far as the store controls it. */
  CompletableFuture<@Nullable Void> scrub();

  /** As {@link #scrub}, to the last copy; writes wait for it. */
  default CompletableFuture<@Nullable Void> rewrite() {
    return scrub();
  }

  /** Copies the database into a new file, if the store can. */
  CompletableFuture<@Nullable Void> backup(Path file);

  /** Completes pending requests, then releases the database for the next host. */
  void close();
}

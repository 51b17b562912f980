package io.fermata.persistence.sql;

import com.typesafe.config.Config;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The open database of a store: its connections and its own words. */
public interface SqlBackend {

  Dialect dialect();

  /** The settings of the plugins. */
  Config config();

  /** What the plugins say to this database. */
  SqlJournal journal();

  /** Gives a connection to whoever appends to journals. */
  <T> CompletableFuture<T> append(Transactions.Work<T> work);

  /** Makes other changes of journals and snapshots. */
  Transactions journalWriter();

  /** Reads journals and snapshots for sessions that begin. */
  Transactions journalReader();

  /** Makes the store's own changes, in the order they are asked for. */
  Transactions writer();

  /** Reads one state of the database, however many statements that takes. */
  Transactions reader();

  /** Leaves nothing of what was deleted where others could find it, as far as that is ours. */
  CompletableFuture<@Nullable Void> scrub();

  /** Copies the database into a new file, if that is the store's to do. */
  CompletableFuture<@Nullable Void> backup(Path file);

  /** Lets what waits finish, then frees the database for the next host. */
  void close();
}

package io.fermata.persistence;

import com.typesafe.config.Config;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;
import org.jspecify.annotations.Nullable;

/** The open database of a store: its connections and its own words. */
interface SqlBackend {

  Dialect dialect();

  /** The settings of the JDBC plugins. */
  Config config();

  /** The connections of the JDBC plugins. */
  SlickDatabase journals();

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

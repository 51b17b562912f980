package io.fermata.persistence;

import com.typesafe.config.Config;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;

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

  /** Lets what waits finish, then frees the database for the next host. */
  void close();
}

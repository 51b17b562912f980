/** Stores for journals, snapshots and the directory of sessions. */
@SuppressWarnings({"module", "requires-automatic", "requires-transitive-automatic"})
module io.fermata.persistence {
  requires com.fasterxml.jackson.databind;
  requires com.zaxxer.hikari;
  requires org.postgresql.jdbc;
  requires org.slf4j;
  requires org.xerial.sqlitejdbc;
  requires pekko.persistence;
  requires pekko.persistence.typed;
  requires scala.library;
  requires transitive java.sql;
  requires transitive org.jspecify;
  requires transitive pekko.actor;
  requires transitive typesafe.config;

  exports io.fermata.persistence;
  exports io.fermata.persistence.directory;
  exports io.fermata.persistence.spi;
  exports io.fermata.persistence.pekko to
      io.fermata.persistence.keyvalue,
      io.fermata.session,
      io.fermata.testkit;

  opens io.fermata.persistence.pekko to
      com.fasterxml.jackson.databind,
      pekko.actor,
      pekko.persistence;

  uses io.fermata.persistence.spi.StoreProvider;
}

package io.fermata.persistence;

import com.typesafe.config.Config;
import com.zaxxer.hikari.HikariConfig;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;

/**
 * A claimed SQLite file with its connections: one that writes, and some that only read. With a
 * write-ahead log those see what was committed when they began, and neither wait for a writer nor
 * hold one up.
 */
record SqliteBackend(SqliteDatabase writer, SqlPool reader, FileClaim claim) implements SqlBackend {

  /** One more than a long search can occupy. */
  private static final int READERS = 2;

  static SqliteBackend connect(SqliteFile file, FileClaim claim) {
    SqliteDatabase writer = SqliteDatabase.connect(file);
    try {
      return new SqliteBackend(writer, SqlPool.connect(readers(file)), claim);
    } catch (RuntimeException refused) {
      writer.close();
      throw refused;
    }
  }

  static HikariConfig readers(SqliteFile file) {
    HikariConfig pool = SqliteDatabase.pool(file, "fermata-sqlite-read", READERS);
    pool.setConnectionInitSql("PRAGMA query_only = ON");
    return pool;
  }

  @Override
  public Dialect dialect() {
    return Dialect.SQLITE;
  }

  @Override
  public Config config() {
    return StoreConfig.load("sqlite-store.conf");
  }

  @Override
  public SlickDatabase journals() {
    return writer;
  }

  @Override
  public void close() {
    try {
      // The last connection to close brings the write-ahead log into the file, so that one writes.
      reader.close();
      writer.close();
    } finally {
      claim.release();
    }
  }
}

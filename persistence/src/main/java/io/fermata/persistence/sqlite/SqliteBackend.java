package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.Dialect;
import io.fermata.persistence.sql.SqlBackend;
import io.fermata.persistence.sql.SqlJournal;
import io.fermata.persistence.sql.SqlPool;
import io.fermata.persistence.sql.Transactions;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteErrorCode;

/**
 * A claimed SQLite file with its connections: one writes, some read journals for sessions that
 * wake, one reads what the host itself needs, some read for users and agents, and some serve lists
 * and searches. With a write-ahead log a reader sees what was committed when it started; readers
 * and the writer do not block each other.
 */
record SqliteBackend(
    SqliteFile file,
    SqliteWriter writer,
    SqlPool journalReader,
    SqlPool upkeep,
    SqlPool reader,
    SqlPool searches,
    FileClaim claim,
    InodeClaim inode)
    implements SqlBackend {

  /** One that takes long must not block the others. */
  private static final int READERS = 2;

  /** A separate thread per backup, as a large file takes long. */
  private static final Executor BACKUPS =
      work -> {
        Thread thread = new Thread(work, "fermata-sqlite-backup");
        thread.setDaemon(true);
        thread.start();
      };

  /**
   * @param later runs a task after a moment
   */
  static SqliteBackend connect(SqliteFile file, FileClaim claim, InodeClaim inode, Executor later) {
    List<SqlPool> pools = new ArrayList<>();
    try {
      pools.add(SqliteConnections.writing(file));
      pools.add(SqliteConnections.reading(file, "fermata-sqlite-wake", READERS));
      pools.add(SqliteConnections.reading(file, "fermata-sqlite-upkeep", 1));
      pools.add(SqliteConnections.reading(file, "fermata-sqlite-read", READERS));
      pools.add(SqliteConnections.reading(file, "fermata-sqlite-search", READERS));
      inode.renew();
    } catch (RuntimeException refused) {
      pools.forEach(SqlPool::close);
      throw refused;
    }
    SqlPool writer = pools.get(0);
    return new SqliteBackend(
        file,
        new SqliteWriter(file, writer, inode, new SqliteLog(file, writer, later)),
        pools.get(1),
        pools.get(2),
        pools.get(3),
        pools.get(4),
        claim,
        inode);
  }

  @Override
  public Dialect dialect() {
    return Dialect.SQLITE;
  }

  @Override
  public SqlJournal journal() {
    return new SqliteJournal();
  }

  @Override
  public <T> CompletableFuture<T> append(Transactions.Work<T> work) {
    return writer.transact(work);
  }

  @Override
  public Transactions journalWriter() {
    return writer;
  }

  @Override
  public List<StorePool> pools(IntSupplier appends, IntSupplier wakes, IntSupplier changes) {
    return List.of(
        writer.load("write", appends, changes),
        journalReader.load("wake", wakes),
        upkeep.load("upkeep"),
        reader.load("read"),
        searches.load("search"));
  }

  @Override
  public CompletionStage<StoreProblem> lost() {
    return inode.lost();
  }

  /**
   * Deleted content is overwritten in the pages; the log still contains it. Copies that SQLite left
   * as it moved content between pages stay until {@link #rewrite}.
   */
  @Override
  public CompletableFuture<@Nullable Void> scrub() {
    return emptied(connection -> {});
  }

  @Override
  public CompletableFuture<@Nullable Void> rewrite() {
    return emptied(this::vacuum);
  }

  /** Something that is done to the file before its log is emptied. */
  private interface Step {
    void on(Connection connection) throws SQLException;
  }

  private CompletableFuture<@Nullable Void> emptied(Step first) {
    return writer
        .query(
            connection -> {
              first.on(connection);
              return SqliteLog.empty(connection, SqliteConnections.BUSY_MILLIS);
            })
        .thenAccept(
            emptied -> {
              if (!emptied) {
                throw new StoreException(
                    "What was deleted from "
                        + file.name()
                        + " is still in its write-ahead log, because a reader keeps the"
                        + " file open; delete it again when that reader has ended");
              }
            });
  }

  private void vacuum(Connection connection) throws SQLException {
    try (Statement vacuum = connection.createStatement()) {
      vacuum.executeUpdate("VACUUM");
    } catch (SQLException failed) {
      if (SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_BUSY)) {
        throw failed;
      }
      throw unwritten(failed);
    }
  }

  /** Why copies are left of what is deleted by now, and what to do. */
  private StoreException unwritten(SQLException failed) {
    StoreProblem problem =
        SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_FULL)
            ? StoreProblem.FULL
            : Transactions.isDamage(failed) ? StoreProblem.DAMAGED : StoreProblem.REFUSES;
    String next =
        switch (problem) {
          case FULL ->
              "; free as much space as it takes, both beside it and in the directory for temporary"
                  + " files, and delete it again";
          case DAMAGED -> "; the store is damaged: restore it from a backup";
          default -> "";
        };
    return new StoreException(
        problem,
        "What was deleted is gone, but copies of it may be left in "
            + file.name()
            + ", which could not be rewritten: "
            + failed.getMessage()
            + next,
        failed);
  }

  @Override
  public CompletableFuture<@Nullable Void> backup(Path to) {
    return CompletableFuture.runAsync(() -> SqliteBackup.of(file, to), BACKUPS);
  }

  @Override
  public void close() {
    try {
      // The last connection to close checkpoints the write-ahead log, so it must be the writer.
      searches.close();
      reader.close();
      upkeep.close();
      journalReader.close();
      writer.close();
    } finally {
      try {
        inode.release();
      } finally {
        claim.release();
      }
    }
  }
}

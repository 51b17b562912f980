package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.sql.OpenSqlStore;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Journals in one SQLite file. */
public final class SqliteStore implements StoreSource {

  private static final String PREFIX = "sqlite:";

  private static final Executor A_MOMENT_LATER =
      CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS);

  private final Path file;

  public SqliteStore(Path file) {
    this.file = file;
  }

  @Override
  public OpenStore open() {
    return open(file, A_MOMENT_LATER);
  }

  /**
   * Opens a file.
   *
   * @param later runs a task after a moment
   */
  static OpenSqlStore open(Path file, Executor later) {
    SqliteFile located = SqliteFile.locate(file);
    FileClaim claim = FileClaim.take(located);
    try {
      located.createPrivately();
      return open(located, claim, InodeClaim.take(located), later);
    } catch (RuntimeException refused) {
      claim.release();
      throw refused;
    }
  }

  private static OpenSqlStore open(
      SqliteFile located, FileClaim claim, InodeClaim inode, Executor later) {
    try {
      byte[] serverKey = SqliteSchema.prepare(located);
      return new OpenSqlStore(
          PREFIX + located.name(), serverKey, SqliteBackend.connect(located, claim, inode, later));
    } catch (RuntimeException refused) {
      inode.release();
      throw refused;
    }
  }

  @Override
  public boolean exists() {
    return file.toFile().length() > 0;
  }

  @Override
  public void backup(Path to) {
    SqliteBackup.of(SqliteFile.locate(file), to);
  }

  @Override
  public Verified verify(Consumer<String> damage) {
    return SqliteVerification.of(SqliteFile.locate(file), damage);
  }

  @Override
  public String toString() {
    return PREFIX + file;
  }
}

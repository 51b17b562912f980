package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.sql.OpenSqlStore;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Journals in one SQLite file. */
public final class SqliteStore implements StoreSource {

  private final Path file;

  public SqliteStore(Path file) {
    this.file = file;
  }

  @Override
  public OpenStore open() {
    SqliteFile located = SqliteFile.locate(file);
    FileClaim claim = FileClaim.take(located);
    try {
      located.createPrivately();
      return open(located, claim, InodeClaim.take(located));
    } catch (RuntimeException refused) {
      claim.release();
      throw refused;
    }
  }

  private OpenStore open(SqliteFile located, FileClaim claim, InodeClaim inode) {
    try {
      byte[] serverKey = SqliteSchema.prepare(located);
      return new OpenSqlStore(toString(), serverKey, SqliteBackend.connect(located, claim, inode));
    } catch (RuntimeException refused) {
      inode.release();
      throw refused;
    }
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
    return "sqlite:" + file;
  }
}

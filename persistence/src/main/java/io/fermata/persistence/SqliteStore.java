package io.fermata.persistence;

import java.nio.file.Path;

/** Journals in one SQLite file. */
final class SqliteStore implements StoreSource {

  private final Path file;

  SqliteStore(Path file) {
    this.file = file;
  }

  @Override
  public OpenStore open() {
    SqliteFile located = SqliteFile.locate(file);
    FileClaim claim = FileClaim.take(located);
    try {
      located.createPrivately();
      byte[] serverKey = SqliteSchema.prepare(located);
      return new OpenSqlStore(toString(), serverKey, SqliteBackend.connect(located, claim));
    } catch (RuntimeException refused) {
      claim.release();
      throw refused;
    }
  }

  @Override
  public void backup(Path to) {
    SqliteBackup.of(SqliteFile.locate(file), to);
  }

  @Override
  public String toString() {
    return "sqlite:" + file;
  }
}

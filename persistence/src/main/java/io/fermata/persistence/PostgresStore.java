package io.fermata.persistence;

import java.nio.file.Path;

/** Journals in one schema of a PostgreSQL database. */
final class PostgresStore implements Store {

  private final PostgresAddress address;

  PostgresStore(PostgresAddress address) {
    this.address = address;
  }

  @Override
  public OpenStore open() {
    PostgresClaim claim = PostgresClaim.take(address);
    try {
      return new OpenSqlStore(
          toString(), claim.serverKey(), PostgresBackend.connect(address, claim));
    } catch (RuntimeException refused) {
      claim.release();
      throw refused;
    }
  }

  @Override
  public void backup(Path file) {
    throw noBackup();
  }

  static StoreException noBackup() {
    return new StoreException(
        "A PostgreSQL database is copied by its own tools; use pg_dump, or pg_basebackup for the"
            + " whole server");
  }

  @Override
  public String toString() {
    return address.shown();
  }
}

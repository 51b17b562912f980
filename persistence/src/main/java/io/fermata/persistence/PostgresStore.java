package io.fermata.persistence;

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
  public String toString() {
    return address.shown();
  }
}

package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.sql.OpenSqlStore;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.Consumer;

/** Journals in one schema of a PostgreSQL database. */
public final class PostgresStore implements StoreSource {

  private final PostgresAddress address;

  public PostgresStore(PostgresAddress address) {
    this.address = address;
  }

  @Override
  public OpenStore open() {
    return open(PostgresClaim.take(address), PostgresShards.all());
  }

  @Override
  public OpenStore openShared() {
    return open(PostgresClaim.share(address), PostgresShards.shared());
  }

  /** A host that shares the store and takes no shard can write nothing. */
  @Override
  public OpenStore openToRead() {
    requirePresent();
    return openShared();
  }

  @Override
  public boolean exists() {
    try (Connection connection = PostgresSource.forClaim(address).getConnection()) {
      return PostgresSchema.exists(connection);
    } catch (SQLException failed) {
      throw PostgresFailure.explain(address, failed);
    }
  }

  private OpenStore open(PostgresClaim claim, PostgresShards shards) {
    try {
      return new OpenSqlStore(
          toString(), claim.serverKey(), PostgresBackend.connect(address, claim, shards));
    } catch (RuntimeException refused) {
      claim.release();
      throw refused;
    }
  }

  @Override
  public void backup(Path file) {
    throw noBackup(address);
  }

  @Override
  public Verified verify(Consumer<String> damage) {
    try (Connection connection = PostgresSource.forClaim(address).getConnection()) {
      connection.setReadOnly(true);
      return PostgresVerification.of(connection, damage);
    } catch (SQLException failed) {
      throw PostgresFailure.explain(address, failed);
    }
  }

  static StoreException noBackup(PostgresAddress address) {
    return new StoreException(
        address.shown()
            + " has no file to copy; use pg_dump, or pg_basebackup for the whole server");
  }

  @Override
  public String toString() {
    return address.shown();
  }
}

package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;

/** What a server must be to keep a store. */
final class PostgresRequirements {

  private static final int OLDEST_SERVER = 13;

  private PostgresRequirements() {}

  /** Refuses a server that can never keep a store. */
  static void require(PostgresAddress address, Connection connection) throws SQLException {
    int version = connection.getMetaData().getDatabaseMajorVersion();
    if (version < OLDEST_SERVER) {
      throw new StoreException(
          address.shown()
              + " is PostgreSQL "
              + version
              + ", which is not supported; use "
              + OLDEST_SERVER
              + " or later");
    }
    String encoding = PostgresClaim.text(connection, "SHOW server_encoding");
    if (!encoding.equals("UTF8")) {
      throw new StoreException(
          address.shown()
              + " uses the encoding "
              + encoding
              + ", which cannot store every character; use a database created with the"
              + " encoding UTF8");
    }
    requireSound(address, connection);
    PostgresDurability.warn(address, connection);
  }

  /** Whether what is written now will be acknowledged and stay. */
  static void requireSound(PostgresAddress address, Connection connection) throws SQLException {
    if (PostgresClaim.text(connection, "SHOW transaction_read_only").equals("on")) {
      throw new SQLException("the server is read-only", "25006");
    }
    PostgresDurability.require(address, connection);
  }
}

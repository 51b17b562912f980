package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** Finds the schema for the tables of a PostgreSQL store. */
final class PostgresNamespace {

  private PostgresNamespace() {}

  /** The quoted name of the schema. If the address names one that is missing, it is created. */
  static String of(PostgresAddress address, Connection connection) throws SQLException {
    String found = current(connection);
    if (!found.isEmpty()) {
      return found;
    }
    String wanted = address.schema();
    if (wanted == null || !wanted.matches("[a-z_][a-z0-9_]*")) {
      throw new StoreException(
          address.shown()
              + " names no schema that exists; create it, or name one in lower-case letters with"
              + " the parameter currentSchema");
    }
    create(address, connection, wanted);
    return current(connection);
  }

  private static String current(Connection connection) throws SQLException {
    return PostgresClaim.text(connection, "SELECT quote_ident(current_schema())");
  }

  private static void create(PostgresAddress address, Connection connection, String name)
      throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA IF NOT EXISTS " + name);
    } catch (SQLException failed) {
      switch (String.valueOf(failed.getSQLState())) {
        case "23505", "42P06" -> {
          // Another host was faster.
        }
        case "42501" ->
            throw new StoreException(
                address.shown()
                    + " has no schema "
                    + name
                    + ", and this role may not create it; let the owner of the database run"
                    + " \"CREATE SCHEMA "
                    + name
                    + " AUTHORIZATION "
                    + PostgresClaim.text(connection, "SELECT quote_ident(current_user)")
                    + "\"",
                failed);
        default -> throw failed;
      }
    }
  }
}

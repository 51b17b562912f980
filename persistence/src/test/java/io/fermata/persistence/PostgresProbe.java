package io.fermata.persistence;

import io.fermata.postgres.PostgresServer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Looks into a store's database past the store. */
public record PostgresProbe(PostgresServer server, String address) {

  public static PostgresProbe fresh() {
    return of(PostgresServer.shared());
  }

  public static PostgresProbe of(PostgresServer server) {
    return new PostgresProbe(server, server.newDatabase());
  }

  public String database() {
    return PostgresServer.database(address);
  }

  public Store store() {
    return Store.postgres(address);
  }

  public void execute(String... statements) {
    server.execute(database(), statements);
  }

  /** The only value that a statement returns. */
  public String text(String sql) {
    try (Connection connection = server.connect(database());
        PreparedStatement select = connection.prepareStatement(sql);
        ResultSet row = select.executeQuery()) {
      row.next();
      return String.valueOf(row.getString(1));
    } catch (SQLException failed) {
      throw new AssertionError(failed);
    }
  }

  public List<Long> numbers(String sql, Object... parameters) {
    try (Connection connection = server.connect(database());
        PreparedStatement select = connection.prepareStatement(sql)) {
      for (int index = 0; index < parameters.length; index++) {
        select.setObject(index + 1, parameters[index]);
      }
      List<Long> numbers = new ArrayList<>();
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          numbers.add(rows.getLong(1));
        }
      }
      return numbers;
    } catch (SQLException failed) {
      throw new AssertionError(failed);
    }
  }

  public long number(String sql, Object... parameters) {
    return numbers(sql, parameters).get(0);
  }

  public List<Long> records(String persistenceId) {
    return numbers(
        "SELECT sequence_number FROM event_journal WHERE persistence_id = ? ORDER BY 1",
        persistenceId);
  }

  public List<Long> snapshots(String persistenceId) {
    return numbers("SELECT sequence_number FROM snapshot WHERE persistence_id = ?", persistenceId);
  }
}

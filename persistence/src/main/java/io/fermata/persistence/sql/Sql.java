package io.fermata.persistence.sql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Runs statements with their parameters, each prepared for one request. */
public final class Sql {

  private Sql() {}

  /** Reads a value from a row. */
  public interface Row<T> {
    T read(ResultSet row) throws SQLException;
  }

  /** What is read from all rows, in a list that the caller may change. */
  public static <T> List<T> list(
      Connection connection, String sql, Row<T> row, Object... parameters) throws SQLException {
    try (PreparedStatement select = prepared(connection, sql, parameters)) {
      return list(select, row);
    }
  }

  /** The same of a statement whose parameters are set. */
  public static <T> List<T> list(PreparedStatement select, Row<T> row) throws SQLException {
    try (ResultSet rows = select.executeQuery()) {
      List<T> all = new ArrayList<>();
      while (rows.next()) {
        all.add(row.read(rows));
      }
      return all;
    }
  }

  /** What is read from the first row; empty if there is none, or it has no value. */
  public static <T> Optional<T> first(
      Connection connection, String sql, Row<T> row, Object... parameters) throws SQLException {
    try (PreparedStatement select = prepared(connection, sql, parameters);
        ResultSet rows = select.executeQuery()) {
      return rows.next() ? Optional.ofNullable(row.read(rows)) : Optional.empty();
    }
  }

  /** Returns how many rows were changed. */
  public static int update(Connection connection, String sql, Object... parameters)
      throws SQLException {
    try (PreparedStatement update = prepared(connection, sql, parameters)) {
      return update.executeUpdate();
    }
  }

  /** Runs a statement for each of several things, in few round trips, and counts the rows. */
  public static <T> int[] updateAll(
      Connection connection, String sql, Collection<T> all, Function<T, List<?>> parameters)
      throws SQLException {
    if (all.isEmpty()) {
      return new int[0];
    }
    try (PreparedStatement update = connection.prepareStatement(sql)) {
      for (T each : all) {
        bind(update, parameters.apply(each).toArray());
        update.addBatch();
      }
      return update.executeBatch();
    }
  }

  private static PreparedStatement prepared(Connection connection, String sql, Object... parameters)
      throws SQLException {
    PreparedStatement statement = connection.prepareStatement(sql);
    try {
      bind(statement, parameters);
      return statement;
    } catch (SQLException | RuntimeException failed) {
      statement.close();
      throw failed;
    }
  }

  private static void bind(PreparedStatement statement, Object... parameters) throws SQLException {
    for (int i = 0; i < parameters.length; i++) {
      statement.setObject(i + 1, parameters[i]);
    }
  }
}

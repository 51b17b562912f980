package io.fermata.persistence;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Looks into a store's file past the store. */
public final class SqliteProbe {

  private SqliteProbe() {}

  public static List<Long> numbers(Path file, String sql, String parameter) {
    try (Connection connection = connect(file);
        PreparedStatement select = connection.prepareStatement(sql)) {
      select.setString(1, parameter);
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

  public static List<String> plan(Path file, String sql) {
    return strings(file, "EXPLAIN QUERY PLAN " + sql, "detail");
  }

  public static List<String> strings(Path file, String sql, String column) {
    try (Connection connection = connect(file);
        PreparedStatement select = connection.prepareStatement(sql);
        ResultSet rows = select.executeQuery()) {
      List<String> strings = new ArrayList<>();
      while (rows.next()) {
        strings.add(rows.getString(column));
      }
      return strings;
    } catch (SQLException failed) {
      throw new AssertionError(failed);
    }
  }

  public static void execute(Path file, String... statements) {
    try (Connection connection = connect(file);
        var statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException failed) {
      throw new AssertionError(failed);
    }
  }

  private static Connection connect(Path file) throws SQLException {
    return DriverManager.getConnection("jdbc:sqlite:" + file);
  }
}

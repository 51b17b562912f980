package io.fermata.persistence;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The tables that say what the journals are about. */
final class SqliteDirectory {

  private static final String PUT =
      """
      INSERT INTO directory (
        persistence_id, kind, principal, name, seq, created_at, active_at, labels, searchable)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (persistence_id) DO UPDATE SET
        kind = excluded.kind,
        principal = excluded.principal,
        name = excluded.name,
        seq = excluded.seq,
        created_at = excluded.created_at,
        active_at = excluded.active_at,
        labels = excluded.labels,
        searchable = excluded.searchable
      WHERE excluded.seq >= directory.seq
      """;

  private static final String PUT_TAG =
      """
      INSERT INTO directory_tag (persistence_id, tag, kind, created_at, active_at)
      VALUES (?, ?, ?, ?, ?)
      """;

  static final String DELETE_TAGS = "DELETE FROM directory_tag WHERE persistence_id = ?";
  static final String DELETE = "DELETE FROM directory WHERE persistence_id = ?";
  static final String GET = "SELECT * FROM directory WHERE persistence_id = ?";

  private SqliteDirectory() {}

  static void put(Connection connection, DirectoryEntry entry) throws SQLException {
    try (PreparedStatement put = connection.prepareStatement(PUT)) {
      put.setString(1, entry.persistenceId());
      put.setString(2, entry.kind());
      put.setString(3, entry.principal());
      put.setString(4, entry.name());
      put.setLong(5, entry.seq());
      put.setLong(6, entry.createdAt());
      put.setLong(7, entry.activeAt());
      put.setString(8, DirectoryLabels.of(entry).write());
      put.setString(9, entry.searchable());
      if (put.executeUpdate() > 0) {
        putTags(connection, entry);
      }
    }
  }

  private static void putTags(Connection connection, DirectoryEntry entry) throws SQLException {
    delete(connection, DELETE_TAGS, entry.persistenceId());
    if (entry.tags().isEmpty()) {
      return;
    }
    try (PreparedStatement put = connection.prepareStatement(PUT_TAG)) {
      for (String tag : entry.tags()) {
        put.setString(1, entry.persistenceId());
        put.setString(2, tag);
        put.setString(3, entry.kind());
        put.setLong(4, entry.createdAt());
        put.setLong(5, entry.activeAt());
        put.executeUpdate();
      }
    }
  }

  /** The tags go with their entry. */
  static void remove(Connection connection, String persistenceId) throws SQLException {
    delete(connection, DELETE, persistenceId);
  }

  private static void delete(Connection connection, String sql, String persistenceId)
      throws SQLException {
    try (PreparedStatement delete = connection.prepareStatement(sql)) {
      delete.setString(1, persistenceId);
      delete.executeUpdate();
    }
  }

  static Optional<DirectoryEntry> get(Connection connection, String persistenceId)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(GET)) {
      select.setString(1, persistenceId);
      return entries(select).stream().findFirst();
    }
  }

  static DirectoryPage list(Connection connection, DirectoryQuery query) throws SQLException {
    SqliteListing listing = SqliteListing.of(query);
    try (PreparedStatement select = connection.prepareStatement(listing.sql())) {
      for (int index = 0; index < listing.parameters().size(); index++) {
        select.setObject(index + 1, listing.parameters().get(index));
      }
      return query.page(entries(select));
    }
  }

  private static List<DirectoryEntry> entries(PreparedStatement select) throws SQLException {
    try (ResultSet rows = select.executeQuery()) {
      List<DirectoryEntry> entries = new ArrayList<>();
      while (rows.next()) {
        entries.add(entry(rows));
      }
      return entries;
    }
  }

  private static DirectoryEntry entry(ResultSet row) throws SQLException {
    DirectoryLabels labels = DirectoryLabels.read(row.getString("labels"));
    return new DirectoryEntry(
        row.getString("persistence_id"),
        row.getString("kind"),
        row.getString("principal"),
        row.getString("name"),
        row.getLong("seq"),
        row.getLong("created_at"),
        row.getLong("active_at"),
        labels.tags(),
        labels.attributes());
  }
}

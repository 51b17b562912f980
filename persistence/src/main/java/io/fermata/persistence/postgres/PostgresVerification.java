package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.sql.SqlVerification;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.function.Consumer;

/**
 * Checks what a store has besides in PostgreSQL: that the schema has all its parts and shards, and
 * that entries and tags carry the slice of their session. Work with another slice would be found by
 * no host.
 */
final class PostgresVerification {

  private static final int AT_ONCE = 1_000;

  static final String SLICES =
      """
      SELECT entry.ordering, entry.persistence_id, entry.sequence_number, entry.slice,
        ARRAY(SELECT tag.slice FROM event_tag AS tag WHERE tag.event_id = entry.ordering)
      FROM event_journal AS entry
      WHERE entry.ordering > ? ORDER BY entry.ordering LIMIT ?
      """;

  private final Connection connection;
  private final Consumer<String> damage;
  private int damages;

  private PostgresVerification(Connection connection, Consumer<String> damage) {
    this.connection = connection;
    this.damage = damage;
  }

  /** Verifies a whole schema on a connection in auto-commit mode. */
  static Verified of(Connection connection, Consumer<String> damage) throws SQLException {
    PostgresVerification verification = new PostgresVerification(connection, damage);
    for (String lost : PostgresSchema.damages(connection)) {
      verification.report(lost);
    }
    verification.slices();
    PostgresJournal journal = new PostgresJournal(PostgresShards.all());
    Verified verified = SqlVerification.of(connection, journal, damage);
    return new Verified(
        verified.journals(), verified.entries(), verified.damages() + verification.damages);
  }

  private void slices() throws SQLException {
    long reached = Long.MIN_VALUE;
    long before;
    try (PreparedStatement select = connection.prepareStatement(SLICES)) {
      do {
        before = reached;
        select.setLong(1, reached);
        select.setInt(2, AT_ONCE);
        try (ResultSet rows = select.executeQuery()) {
          while (rows.next()) {
            reached = rows.getLong(1);
            check(rows);
          }
        }
      } while (reached > before);
    }
  }

  private void check(ResultSet row) throws SQLException {
    String session = row.getString(2);
    int right = Shard.sliceOf(session);
    boolean fits = row.getInt(4) == right;
    for (Object slice : (Object[]) row.getArray(5).getArray()) {
      fits &= ((Number) slice).intValue() == right;
    }
    if (!fits) {
      String which = "entry " + row.getLong(3) + " is in another slice than " + right;
      report(String.valueOf(DamagedException.ofJournal(session, which).getMessage()));
    }
  }

  private void report(String found) {
    damages++;
    damage.accept(found);
  }
}

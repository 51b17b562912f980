package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** The table of snapshots, in SQL that all databases share. */
public final class SqlSnapshots {

  public static final String COLUMNS =
      """
      persistence_id, sequence_number, created, snapshot_payload, snapshot_ser_id,
      snapshot_ser_manifest, last, checksum\
      """;

  private static final String SAVE =
      """
      INSERT INTO snapshot (%s) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (persistence_id, sequence_number) DO UPDATE SET
        created = excluded.created,
        snapshot_payload = excluded.snapshot_payload,
        snapshot_ser_id = excluded.snapshot_ser_id,
        snapshot_ser_manifest = excluded.snapshot_ser_manifest,
        last = excluded.last,
        checksum = excluded.checksum
      """
          .formatted(COLUMNS);

  private static final String DELETE =
      """
      DELETE FROM snapshot
      WHERE persistence_id = ? AND sequence_number BETWEEN ? AND ? AND created BETWEEN ? AND ?
      """;

  private SqlSnapshots() {}

  static int save(Connection connection, SerializedSnapshot snapshot) throws SQLException {
    try (PreparedStatement save = connection.prepareStatement(SAVE)) {
      save.setString(1, snapshot.persistenceId());
      save.setLong(2, snapshot.sequenceNr());
      save.setLong(3, snapshot.timestamp());
      Serialized.set(save, 4, snapshot.state());
      save.setInt(7, snapshot.last());
      save.setInt(8, snapshot.checksum());
      return save.executeUpdate();
    }
  }

  static int delete(Connection connection, SnapshotRange range) throws SQLException {
    return Sql.update(
        connection,
        DELETE,
        range.persistenceId(),
        range.fromSeq(),
        range.toSeq(),
        range.fromTime(),
        range.toTime());
  }

  /** A row of {@link #COLUMNS}. */
  public static SerializedSnapshot read(ResultSet row) throws SQLException {
    return new SerializedSnapshot(
        row.getString(1),
        row.getLong(2),
        row.getLong(3),
        Serialized.get(row, 4),
        row.getInt(7),
        row.getInt(8));
  }
}

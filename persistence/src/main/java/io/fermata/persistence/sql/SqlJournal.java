package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.JournalEnd;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** The statements of the plugins for batches of sessions, in the SQL of one database. */
public interface SqlJournal {

  /** Appends all records, or none. */
  void append(Connection connection, List<SerializedEntry> records) throws SQLException;

  /** The newest record of each journal. */
  List<JournalTip> tips(Connection connection, List<String> persistenceIds) throws SQLException;

  /** The newest snapshot in each range, where there is one. */
  List<Optional<SerializedSnapshot>> snapshots(Connection connection, List<SnapshotRange> ranges)
      throws SQLException;

  /**
   * Deletes everything before the ends of journals: records, snapshots and the directory entries of
   * their parts. The tags of the ends are deleted too, so the next sweep skips them.
   */
  void deleteBefore(Connection connection, List<JournalEnd> ends) throws SQLException;

  /** Whether a failure is the fault of a record, not of the database or the connection. */
  boolean refusesRecord(SQLException failed);
}

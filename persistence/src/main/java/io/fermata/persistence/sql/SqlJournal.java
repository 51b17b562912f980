package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.JournalEnd;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** What the plugins ask of the tables for many sessions at once, in the words of a database. */
public interface SqlJournal {

  /** Appends records. All of them are there afterwards, or none. */
  void append(Connection connection, List<SerializedEntry> records) throws SQLException;

  /** The sequence number of the newest record of each journal, 0 where there is none. */
  List<Long> highest(Connection connection, List<String> persistenceIds) throws SQLException;

  /** The newest snapshot in each range, where there is one. */
  List<Optional<SerializedSnapshot>> snapshots(Connection connection, List<SnapshotRange> ranges)
      throws SQLException;

  /**
   * Deletes what lies before the ends of journals: records, snapshots and what the directory says
   * of their parts. The ends lose their tags, so that they are not looked at again.
   */
  void deleteBefore(Connection connection, List<JournalEnd> ends) throws SQLException;

  /** Whether a failure is the fault of a record, and not of the database or the way to it. */
  boolean refusesRecord(SQLException failed);
}

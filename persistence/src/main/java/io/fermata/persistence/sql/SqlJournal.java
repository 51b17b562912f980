package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.JournalEnd;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Written;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** The statements of the plugins for batches of sessions, in the SQL of one database. */
public interface SqlJournal {

  /** The shards on which this host works. */
  SqlShards shards();

  /** The index of the directory's texts. */
  SqlTexts texts();

  /**
   * Appends all records, or none. It is a single statement where several hosts share the database.
   */
  void append(Connection connection, List<SqlWrite> writes) throws SQLException;

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

  /**
   * Of each of these journals the first of the earlier ends with a sweep tag in a range, where
   * there is one.
   */
  List<Promise> promised(Connection connection, List<JournalEnd> ends, String from, String to)
      throws SQLException;

  /**
   * An end that is kept for longer than one that follows it; the journal is kept from there until
   * then.
   *
   * @param until the tag with the time
   */
  record Promise(String persistenceId, long seq, String until) {}

  /** Journals that were written, see {@link OpenStore#written}. */
  List<Written> written(Connection connection, long after, int max) throws SQLException;

  /** The directory lists what was written up to a number. */
  void mark(Connection connection, long number) throws SQLException;

  /** The number up to which the directory lists what was written. */
  long marked(Connection connection) throws SQLException;

  /** Whether a failure is the fault of a record, not of the database or the connection. */
  boolean refusesRecord(SQLException failed);
}

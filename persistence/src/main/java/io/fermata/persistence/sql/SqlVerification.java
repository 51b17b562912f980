package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.ChainCheck;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Verified;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;

/**
 * Checks the journals, snapshots and the directory of a database, which a host may be writing. Each
 * statement reads a small portion of what is committed by then, so no writer is delayed. What seems
 * damaged is read once more, as it may have been changed between two statements.
 */
public final class SqlVerification {

  private static final int JOURNALS_AT_ONCE = 200;
  private static final int ENTRIES_AT_ONCE = 64;

  public static final String SNAPSHOTS =
      """
      SELECT DISTINCT persistence_id FROM snapshot
      WHERE persistence_id > ? ORDER BY persistence_id LIMIT ?
      """;

  public static final String LISTED =
      """
      SELECT persistence_id FROM directory
      WHERE persistence_id > ? ORDER BY persistence_id LIMIT ?
      """;

  private final Connection connection;
  private final SqlJournal journal;
  private final Consumer<String> damage;
  private long journals;
  private long entries;
  private long damages;

  private SqlVerification(Connection connection, SqlJournal journal, Consumer<String> damage) {
    this.connection = connection;
    this.journal = journal;
    this.damage = damage;
  }

  /** Verifies a database on a connection in auto-commit mode. */
  public static Verified of(Connection connection, SqlJournal journal, Consumer<String> damage) {
    SqlVerification verification = new SqlVerification(connection, journal, damage);
    verification.all(SqlEntries.JOURNALS, verification::chain);
    verification.all(SNAPSHOTS, verification::snapshot);
    verification.all(LISTED, verification::listed);
    return new Verified(verification.journals, verification.entries, verification.damages);
  }

  private interface Check {
    void of(String name) throws SQLException;
  }

  private void all(String sql, Check check) {
    String last = "";
    List<String> page;
    try {
      do {
        page = page(sql, last);
        for (String name : page) {
          twice(check, name);
          last = name;
        }
      } while (!page.isEmpty());
    } catch (SQLException failed) {
      throw Transactions.failed(failed);
    } catch (DamagedException unreadable) {
      report(unreadable);
    }
  }

  private List<String> page(String sql, String after) throws SQLException {
    try {
      return Sql.list(connection, sql, row -> row.getString(1), after, JOURNALS_AT_ONCE);
    } catch (SQLException failed) {
      throw Transactions.failed(failed);
    }
  }

  private void twice(Check check, String name) throws SQLException {
    try {
      read(check, name);
    } catch (DamagedException first) {
      try {
        read(check, name);
      } catch (DamagedException again) {
        report(again);
      }
    }
  }

  private static void read(Check check, String name) throws SQLException {
    try {
      check.of(name);
    } catch (SQLException failed) {
      if (Transactions.isDamage(failed)) {
        throw DamagedException.ofJournal(name, String.valueOf(failed.getMessage()));
      }
      throw failed;
    }
  }

  private void report(DamagedException found) {
    damages++;
    damage.accept(String.valueOf(found.getMessage()));
  }

  private void chain(String persistenceId) throws SQLException {
    JournalTip tip = tip(persistenceId).requireListed(persistenceId);
    ChainCheck check = ChainCheck.after(persistenceId, null);
    long read = 0;
    List<SerializedEntry> page;
    do {
      long next = check.reached() + 1;
      page = SqlEntries.replay(connection, persistenceId, next, tip.seq(), ENTRIES_AT_ONCE);
      page.forEach(check::accept);
      read += page.size();
    } while (page.size() == ENTRIES_AT_ONCE);
    check.requireEnd(tip);
    journals++;
    entries += read;
  }

  private JournalTip tip(String persistenceId) throws SQLException {
    return journal.tips(connection, List.of(persistenceId)).get(0);
  }

  private void snapshot(String persistenceId) throws SQLException {
    Optional<SerializedSnapshot> newest =
        journal
            .snapshots(
                connection,
                List.of(SnapshotRange.of(persistenceId, SnapshotSelectionCriteria.latest())))
            .get(0);
    if (newest.isEmpty()) {
      return;
    }
    SerializedSnapshot snapshot = newest.get();
    long seq = snapshot.sequenceNr();
    ChainCheck check = ChainCheck.after(persistenceId, null);
    JournalTip tip = tip(persistenceId);
    if (tip.seq() < seq) {
      throw check.missing(tip.seq() + 1);
    }
    List<SerializedEntry> last = SqlEntries.replay(connection, persistenceId, seq, seq, 1);
    check.requireFits(snapshot, last.isEmpty() ? null : last.get(0));
  }

  /** What is listed of journals with entries is checked with those. */
  private void listed(String name) throws SQLException {
    String persistenceId = DirectoryEntry.journalOf(name);
    JournalTip tip = tip(persistenceId);
    if (tip.seq() == 0) {
      tip.requireListed(persistenceId);
    }
  }
}

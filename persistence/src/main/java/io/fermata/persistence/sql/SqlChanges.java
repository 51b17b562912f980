package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.Deleted;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Makes the store's own changes. Changes of different entries are made together, so that many take
 * few round trips; changes of the same entry are made in their order.
 */
final class SqlChanges {

  /** A small change of the store's own tables. */
  sealed interface Change {}

  record Put(DirectoryEntry entry) implements Change {}

  record Remove(String persistenceId) implements Change {}

  record Mark(long number) implements Change {}

  /** Deletes journals with all that is known of them. */
  record Delete(List<String> persistenceIds) implements Change {}

  private final Connection connection;
  private final SqlJournal journal;
  private final Set<String> changed = new HashSet<>();
  private final List<DirectoryEntry> puts = new ArrayList<>();
  private final List<String> removals = new ArrayList<>();
  private final Map<Integer, Delete> deletions = new LinkedHashMap<>();
  private final List<Deleted> results;

  private SqlChanges(Connection connection, SqlJournal journal, int size) {
    this.connection = connection;
    this.journal = journal;
    this.results = new ArrayList<>(Collections.nCopies(size, Deleted.NOTHING));
  }

  /** Returns what each change has deleted of journals. */
  static List<Deleted> make(Connection connection, SqlJournal journal, List<Change> together)
      throws SQLException {
    journal.shards().require(connection, journals(together));
    SqlChanges changes = new SqlChanges(connection, journal, together.size());
    for (int place = 0; place < together.size(); place++) {
      changes.add(together.get(place), place);
    }
    changes.flush();
    return changes.results;
  }

  /** A change of the directory is one of the journal that it lists. */
  private static Set<String> journals(List<Change> together) {
    Set<String> journals = new HashSet<>();
    for (Change change : together) {
      if (change instanceof Put put) {
        journals.add(DirectoryEntry.journalOf(put.entry().persistenceId()));
      } else if (change instanceof Remove remove) {
        journals.add(DirectoryEntry.journalOf(remove.persistenceId()));
      } else if (change instanceof Delete delete) {
        journals.addAll(delete.persistenceIds());
      }
    }
    return journals;
  }

  private void add(Change change, int place) throws SQLException {
    if (change instanceof Put put) {
      beginChange(put.entry().persistenceId());
      puts.add(put.entry());
    } else if (change instanceof Remove remove) {
      beginChange(remove.persistenceId());
      removals.add(remove.persistenceId());
    } else if (change instanceof Delete delete) {
      if (!changed.isEmpty()) {
        flush();
      }
      deletions.put(place, delete);
    } else if (change instanceof Mark mark) {
      flush();
      journal.mark(connection, mark.number());
    }
  }

  private void beginChange(String persistenceId) throws SQLException {
    if (!deletions.isEmpty() || changed.contains(persistenceId)) {
      flush();
    }
    changed.add(persistenceId);
  }

  private void flush() throws SQLException {
    SqlDirectory.remove(connection, removals);
    List<DirectoryEntry> written = SqlDirectory.put(connection, puts);
    delete();
    journal.texts().settle(connection, written);
    changed.clear();
    puts.clear();
    removals.clear();
    deletions.clear();
  }

  private void delete() throws SQLException {
    List<String> all =
        deletions.values().stream().flatMap(delete -> delete.persistenceIds().stream()).toList();
    List<Deleted> each = SqlEntries.forget(connection, all);
    int next = 0;
    for (Map.Entry<Integer, Delete> deletion : deletions.entrySet()) {
      int end = next + deletion.getValue().persistenceIds().size();
      results.set(
          deletion.getKey(),
          each.subList(next, end).stream().reduce(Deleted.NOTHING, Deleted::and));
      next = end;
    }
  }
}

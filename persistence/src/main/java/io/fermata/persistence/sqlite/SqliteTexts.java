package io.fermata.persistence.sqlite;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.sql.SqlTexts;
import io.fermata.persistence.sql.Trigrams;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * For each trigram, the entries that have it: one row for each thousand entries of neighbouring
 * numbers. The numbers ascend, so new entries change the same few pages. A row says exactly which
 * entries there are, so nothing is left of a text that was deleted; FTS5 would leave its trigrams
 * in the file, or search the whole index for each of them.
 *
 * <p>Triggers note the entries whose text was added, changed or deleted, with the text before;
 * {@link #settle} brings the index up to date before the transaction ends.
 */
final class SqliteTexts implements SqlTexts {

  /** How many lookups one search makes: enough for ten million entries. */
  private static final int MOST_LOOKUPS = 20_000;

  private static final int AT_ONCE = 1_000;

  static final String CHANGED =
      """
      SELECT changed.id, changed.before, coalesce(directory.searchable, '')
      FROM directory_text AS changed LEFT JOIN directory ON directory.id = changed.id
      LIMIT %s
      """
          .formatted(AT_ONCE);

  private static final String SETTLED = "DELETE FROM directory_text WHERE id = ?";

  static final String ENTRIES =
      "SELECT entries FROM directory_trigram WHERE block = ? AND trigram = ?";

  static final String BLOCK_BEFORE = "SELECT max(block) FROM directory_trigram WHERE block < ?";

  private static final String PUT =
      """
      INSERT INTO directory_trigram (block, trigram, entries) VALUES (?, ?, ?)
      ON CONFLICT (block, trigram) DO UPDATE SET entries = excluded.entries
      """;

  private static final String DELETE =
      "DELETE FROM directory_trigram WHERE block = ? AND trigram = ?";

  // --- changes -------------------------------------------------------------------------------

  private record Place(long block, int trigram) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      int byBlock = Long.compare(block, other.block);
      return byBlock == 0 ? Integer.compare(trigram, other.trigram) : byBlock;
    }
  }

  /** The entries of a block that a trigram gets and loses. */
  private record Change(BitSet added, BitSet removed) {
    Change() {
      this(new BitSet(), new BitSet());
    }
  }

  /** The triggers have noted what changed. */
  @Override
  public void settle(Connection connection, List<DirectoryEntry> entries) throws SQLException {
    int changed;
    do {
      Map<Place, Change> changes = new TreeMap<>();
      changed = collect(connection, changes);
      make(connection, changes);
    } while (changed == AT_ONCE);
  }

  private static int collect(Connection connection, Map<Place, Change> changes)
      throws SQLException {
    List<Long> ids = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(CHANGED);
        ResultSet rows = select.executeQuery()) {
      while (rows.next()) {
        long id = rows.getLong(1);
        ids.add(id);
        int[] before = Trigrams.of(rows.getString(2));
        int[] now = Trigrams.of(rows.getString(3));
        int entry = SqliteBlock.placeOf(id);
        for (int trigram : without(now, before)) {
          change(changes, id, trigram).added().set(entry);
        }
        for (int trigram : without(before, now)) {
          change(changes, id, trigram).removed().set(entry);
        }
      }
    }
    if (!ids.isEmpty()) {
      try (PreparedStatement delete = connection.prepareStatement(SETTLED)) {
        for (long id : ids) {
          delete.setLong(1, id);
          delete.executeUpdate();
        }
      }
    }
    return ids.size();
  }

  private static int[] without(int[] sorted, int[] others) {
    return Arrays.stream(sorted)
        .filter(trigram -> Arrays.binarySearch(others, trigram) < 0)
        .toArray();
  }

  private static Change change(Map<Place, Change> changes, long id, int trigram) {
    return changes.computeIfAbsent(new Place(SqliteBlock.of(id), trigram), place -> new Change());
  }

  private static void make(Connection connection, Map<Place, Change> changes) throws SQLException {
    if (changes.isEmpty()) {
      return;
    }
    try (PreparedStatement select = connection.prepareStatement(ENTRIES);
        PreparedStatement put = connection.prepareStatement(PUT);
        PreparedStatement delete = connection.prepareStatement(DELETE)) {
      for (Map.Entry<Place, Change> each : changes.entrySet()) {
        Place place = each.getKey();
        BitSet entries = entries(select, place.block(), place.trigram());
        entries.or(each.getValue().added());
        entries.andNot(each.getValue().removed());
        PreparedStatement update = entries.isEmpty() ? delete : put;
        update.setLong(1, place.block());
        update.setInt(2, place.trigram());
        if (!entries.isEmpty()) {
          update.setBytes(3, SqliteBlock.write(entries));
        }
        update.executeUpdate();
      }
    }
  }

  private static BitSet entries(PreparedStatement select, long block, int trigram)
      throws SQLException {
    select.setLong(1, block);
    select.setInt(2, trigram);
    try (ResultSet row = select.executeQuery()) {
      return row.next() ? SqliteBlock.read(row.getBytes(1)) : new BitSet();
    }
  }

  // --- search --------------------------------------------------------------------------------

  /** Block by block, each as long as there is an entry with all trigrams so far. */
  @Override
  public Optional<Object> candidates(Connection connection, int[] trigrams, int most)
      throws SQLException {
    List<Long> found = new ArrayList<>();
    int[] rarestFirst = trigrams.clone();
    int lookups = 0;
    try (PreparedStatement before = connection.prepareStatement(BLOCK_BEFORE);
        PreparedStatement select = connection.prepareStatement(ENTRIES)) {
      for (long block = blockBefore(before, Long.MAX_VALUE);
          block >= 0;
          block = blockBefore(before, block)) {
        BitSet all = SqliteBlock.all();
        lookups++;
        for (int i = 0; i < rarestFirst.length && !all.isEmpty(); i++) {
          all.and(entries(select, block, rarestFirst[i]));
          lookups++;
          if (all.isEmpty()) {
            moveToFront(rarestFirst, i);
          }
        }
        long first = block * SqliteBlock.SIZE;
        all.stream().forEach(entry -> found.add(first + entry));
        if (found.size() > most || lookups > MOST_LOOKUPS) {
          return Optional.empty();
        }
      }
    }
    return Optional.of(found.toString());
  }

  /** What is missing in one block is probably missing in the next. */
  private static void moveToFront(int[] trigrams, int at) {
    int missing = trigrams[at];
    System.arraycopy(trigrams, 0, trigrams, 1, at);
    trigrams[0] = missing;
  }

  /** Below 0 if there is none. */
  private static long blockBefore(PreparedStatement select, long block) throws SQLException {
    select.setLong(1, block);
    try (ResultSet row = select.executeQuery()) {
      long before = row.getLong(1);
      return row.wasNull() ? -1 : before;
    }
  }
}

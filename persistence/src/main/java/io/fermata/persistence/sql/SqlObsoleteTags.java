package io.fermata.persistence.sql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Finds tags that later records of their journals made obsolete, and deletes them. Each search
 * continues where the last one ended and examines a bounded number of tags, so that those behind it
 * wait briefly, however many tags are current.
 */
public final class SqlObsoleteTags {

  public static final SqlShards.Scan EXAMINE =
      new SqlShards.Scan(
          """
          tag.event_id, tag.tag, entry.persistence_id, entry.sequence_number, EXISTS (
            SELECT 1 FROM event_journal AS later
            WHERE later.persistence_id = entry.persistence_id
              AND later.sequence_number > entry.sequence_number) AS obsolete""",
          "(tag.tag, tag.event_id) > (?, ?) AND tag.tag <= ?",
          "",
          "tag.tag, tag.event_id");

  public static final String DELETE = "DELETE FROM event_tag WHERE event_id = ? AND tag = ?";

  /** How many tags a search examines. */
  static final int AT_ONCE = 500;

  private static final Place BEGINNING = Place.before("");

  private final AtomicLong changes = new AtomicLong();
  private volatile Place reached = BEGINNING;
  private volatile Seen begun = Seen.NOTHING;
  private volatile Seen ended = Seen.NOTHING;

  /** Where a search has ended: a shard, and a tag of a record in it. */
  private record Place(int shard, String tag, long event) {

    static Place before(String tag) {
      return new Place(-1, tag, Long.MIN_VALUE);
    }
  }

  /** What was written, and which shards were held, when a round of searches began. */
  private record Seen(long changes, List<Integer> shards) {
    static final Seen NOTHING = new Seen(-1, List.of());
  }

  /** A record whose tag was examined. */
  private record Tagged(long event, String tag, String persistenceId, long seq, boolean obsolete) {

    private static Tagged of(ResultSet row) throws SQLException {
      return new Tagged(
          row.getLong(1), row.getString(2), row.getString(3), row.getLong(4), row.getBoolean(5));
    }
  }

  /** Records were written, which may have made earlier tags obsolete. */
  void changed() {
    changes.incrementAndGet();
  }

  /** Whether all tags were examined since records were written or a shard was taken. */
  boolean isDone(SqlShards shards) {
    return reached.equals(BEGINNING) && seen(shards).equals(ended);
  }

  private Seen seen(SqlShards shards) {
    return new Seen(changes.get(), shards.held());
  }

  /**
   * Deletes what is obsolete among the next tags in a range. More is left to do now only if at
   * least half of them were: so the current ones are not examined in vain again and again, and the
   * obsolete ones are not many more than the current ones for long.
   */
  SqlUpkeep.Portion forget(Connection connection, SqlShards shards, String from, String to)
      throws SQLException {
    if (reached.equals(BEGINNING)) {
      begun = seen(shards);
    }
    List<Tagged> examined = examine(connection, shards, reached, from, to);
    int obsolete = delete(connection, examined);
    if (examined.size() < AT_ONCE) {
      reached = BEGINNING;
      ended = begun;
      return SqlUpkeep.Portion.NOTHING;
    }
    Tagged last = examined.get(examined.size() - 1);
    reached = new Place(shards.of(last.persistenceId()), last.tag(), last.event());
    return new SqlUpkeep.Portion(0, obsolete >= AT_ONCE / 2);
  }

  /** The rest of a shard, and then the shards behind it. */
  private static List<Tagged> examine(
      Connection connection, SqlShards shards, Place after, String from, String to)
      throws SQLException {
    List<Integer> held = shards.held();
    List<Integer> rest = held.stream().filter(shard -> shard == after.shard()).toList();
    List<Integer> others = held.stream().filter(shard -> shard > after.shard()).toList();
    List<Tagged> examined = examine(connection, shards, rest, after, to, AT_ONCE);
    int left = AT_ONCE - examined.size();
    examined.addAll(examine(connection, shards, others, Place.before(from), to, left));
    return examined;
  }

  private static List<Tagged> examine(
      Connection connection, SqlShards shards, List<Integer> some, Place after, String to, int most)
      throws SQLException {
    if (some.isEmpty() || most == 0) {
      return new ArrayList<>();
    }
    return shards.scan(connection, EXAMINE, Tagged::of, some, after.tag(), after.event(), to, most);
  }

  private static int delete(Connection connection, List<Tagged> examined) throws SQLException {
    List<Tagged> obsolete = examined.stream().filter(Tagged::obsolete).toList();
    Transactions.Work<Integer> deletion =
        within -> {
          Sql.updateAll(within, DELETE, obsolete, tagged -> List.of(tagged.event(), tagged.tag()));
          return obsolete.size();
        };
    // Outside of a transaction each deletion would be synced to the disk by itself.
    return connection.getAutoCommit()
        ? Transactions.transact(connection, deletion)
        : deletion.on(connection);
  }
}

package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shards of a database on which this host works: what it scans, and with which right it writes.
 * The text of a statement that scans is that of one shard, with a place for a condition before its
 * own conditions and {@code LIMIT ?} at its end.
 */
public interface SqlShards {

  /** A database that is not divided: one shard, which its only host has. */
  SqlShards UNDIVIDED = new Undivided();

  /** The shards on which this host works, in ascending order. */
  List<Integer> held();

  /** The same in an order that changes with each call, so that none is always the last. */
  List<Integer> inTurns();

  /** The shard of a journal. */
  int of(String persistenceId);

  /** A select of one shard as a select of several. */
  String scan(String select);

  /** The parameters of a select of one shard as those of several. */
  Object[] parameters(List<Integer> shards, Object... parameters);

  /**
   * Scans some shards. Outside of a transaction entries on damaged pages are left out.
   *
   * @param shards are scanned in this order, until the limit is reached
   * @param parameters the last is the limit
   */
  default <T> List<T> scan(
      Connection connection, Scan scan, Sql.Row<T> row, List<Integer> shards, Object... parameters)
      throws SQLException {
    try {
      return Sql.list(connection, scan(scan.select()), row, parameters(shards, parameters));
    } catch (SQLException failed) {
      // A transaction of PostgreSQL ends with the first statement that fails.
      if (!Transactions.isDamage(failed) || !connection.getAutoCommit()) {
        throw failed;
      }
      return scanReadable(connection, scan, row, shards, parameters);
    }
  }

  private <T> List<T> scanReadable(
      Connection connection, Scan scan, Sql.Row<T> row, List<Integer> shards, Object[] parameters)
      throws SQLException {
    int last = parameters.length - 1;
    Object[] ofTags = parameters.clone();
    ofTags[last] = Scan.MOST_TAGS;
    List<Scan.Tag> tags =
        Sql.list(connection, scan(scan.tagsAlone()), Scan.Tag::of, parameters(shards, ofTags));
    return scan.readable(connection, row, tags, ((Number) parameters[last]).intValue());
  }

  /**
   * A scan of tags with their entries.
   *
   * @param columns of {@code tag} and {@code entry}
   * @param tags the condition of the tags
   * @param entries what follows it, the condition of the entries
   * @param order of the tags
   */
  record Scan(String columns, String tags, String entries, String order) {

    private static final Logger LOG = LoggerFactory.getLogger(Scan.class);

    /** The entries on damaged pages of which the log says so already. */
    private static final Set<Long> LOGGED = ConcurrentHashMap.newKeySet();

    /** Bounds a scan that reads entries one by one. */
    private static final int MOST_TAGS = 100_000;

    private static final String EACH_ENTRY =
        """

        FROM event_tag AS tag JOIN event_journal AS entry ON entry.ordering = tag.event_id
        WHERE\s""";

    /** A tag of an entry. */
    private record Tag(long event, String tag) {
      static Tag of(ResultSet row) throws SQLException {
        return new Tag(row.getLong(1), row.getString(2));
      }
    }

    public String select() {
      return "SELECT " + columns + EACH_ENTRY + "%s" + tags + entries + inOrder();
    }

    private String tagsAlone() {
      return "SELECT tag.event_id, tag.tag FROM event_tag AS tag WHERE %s" + tags + inOrder();
    }

    private String ofOne() {
      return "SELECT " + columns + EACH_ENTRY + "tag.event_id = ? AND tag.tag = ?" + entries;
    }

    private String inOrder() {
      return "\nORDER BY " + order + "\nLIMIT ?\n";
    }

    /** Reads the entries one by one, and leaves out those on damaged pages. */
    private <T> List<T> readable(Connection connection, Sql.Row<T> row, List<Tag> tags, int most)
        throws SQLException {
      List<T> found = new ArrayList<>();
      List<SQLException> damages = new ArrayList<>();
      for (Tag tag : tags) {
        if (found.size() == most) {
          break;
        }
        try {
          found.addAll(Sql.list(connection, ofOne(), row, tag.event(), tag.tag()));
        } catch (SQLException failed) {
          if (!Transactions.isDamage(failed)) {
            throw failed;
          }
          if (LOGGED.add(tag.event())) {
            damages.add(failed);
          }
        }
      }
      if (!damages.isEmpty()) {
        LOG.warn(
            "{} more entries are on damaged pages, so their sessions are neither woken nor swept;"
                + " verify the store and restore it from a backup",
            damages.size(),
            damages.get(0));
      }
      return found;
    }
  }

  /**
   * The right to write a journal now, to be handed in when it is written.
   *
   * @throws StoreException if another host has it
   */
  long right(String persistenceId);

  /**
   * Fails unless this host has the right to write these journals until the transaction of the
   * connection ends.
   */
  void require(Connection connection, Collection<String> persistenceIds) throws SQLException;

  /** Like {@link #require}, for all journals of the shards that this host holds. */
  void requireHeld(Connection connection) throws SQLException;

  /** Whether a request failed because another host has the right. */
  boolean isMoved(Throwable failure);

  /** Nothing is divided, so nothing is refused. */
  final class Undivided implements SqlShards {

    private static final List<Integer> ONE = List.of(0);

    private Undivided() {}

    @Override
    public List<Integer> held() {
      return ONE;
    }

    @Override
    public List<Integer> inTurns() {
      return ONE;
    }

    @Override
    public int of(String persistenceId) {
      return 0;
    }

    @Override
    public String scan(String select) {
      return select.formatted("");
    }

    @Override
    public Object[] parameters(List<Integer> shards, Object... parameters) {
      return parameters;
    }

    @Override
    public long right(String persistenceId) {
      return 0;
    }

    @Override
    public void require(Connection connection, Collection<String> persistenceIds) {}

    @Override
    public void requireHeld(Connection connection) {}

    @Override
    public boolean isMoved(Throwable failure) {
      return false;
    }
  }
}

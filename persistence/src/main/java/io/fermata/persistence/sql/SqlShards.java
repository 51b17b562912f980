package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;

/**
 * The shards of a database on which this host works: what it scans, and with which right it writes.
 * A scan is one statement; its text is that of one shard, with a place for a condition before its
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
   * Scans some shards.
   *
   * @param shards are scanned in this order, until the limit is reached
   * @param parameters the last is the limit
   */
  default <T> List<T> scan(
      Connection connection,
      String select,
      Sql.Row<T> row,
      List<Integer> shards,
      Object... parameters)
      throws SQLException {
    return Sql.list(connection, scan(select), row, parameters(shards, parameters));
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

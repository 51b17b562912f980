package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlShards;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * The shards that this host holds. A host that shares its schema holds each with the epoch in which
 * it took it, and each of its statements that writes hands in the epochs of what it writes. A host
 * that has the schema alone holds all and hands in none.
 */
final class PostgresShards implements SqlShards {

  /**
   * The first part of the key of a shard's lock, for the functions of the schema: the number of a
   * table of this schema, as a signed integer.
   */
  static final String LOCK = "CAST('shard' AS regclass)::oid::bigint::bit(32)::integer";

  /** The condition that confines tags to the shard of a scan. */
  private static final String OF_SHARD =
      "tag.slice / " + Shard.SLICES / Shard.COUNT + " = mine.shard AND ";

  /** A nested loop over the array, so the shards come in its order. */
  private static final String SCAN =
      """
      SELECT found.* FROM unnest(CAST(? AS integer[])) AS mine (shard)
      CROSS JOIN LATERAL (
      %s) AS found
      LIMIT ?
      """;

  private static final String REQUIRE =
      "SELECT fermata_fence(CAST(? AS integer[]), CAST(? AS bigint[]))";

  /** The shards whose epochs have not ended. */
  private static final String CURRENT =
      """
      SELECT shard.shard FROM unnest(CAST(? AS integer[]), CAST(? AS bigint[])) AS mine (shard, epoch)
        JOIN shard ON shard.shard = mine.shard AND shard.epoch = mine.epoch
      """;

  private static final String END_EPOCHS = "UPDATE shard SET epoch = epoch + 1, holder = ?";

  /** The SQL state of {@code fermata_fence}, whose detail is the shard. */
  private static final String MOVED = "FM001";

  private static final List<Integer> ALL = Shard.all().boxed().toList();

  private final boolean shared;
  private final ConcurrentSkipListMap<Integer, Long> epochs = new ConcurrentSkipListMap<>();
  private final AtomicInteger turn = new AtomicInteger();
  private final AtomicLong refusals = new AtomicLong();
  private volatile Confirmation confirmed = Confirmation.NONE;

  /**
   * Epochs that had not ended when the store was asked.
   *
   * @param askedNanos when it was asked; this clock runs on while a process is stopped
   * @param askedMillis the same by the clock that runs on while the machine sleeps
   */
  private record Confirmation(Map<Integer, Long> epochs, long askedNanos, long askedMillis) {
    static final Confirmation NONE = new Confirmation(Map.of(), 0, 0);

    boolean isRecent() {
      long millis = System.currentTimeMillis() - askedMillis;
      return System.nanoTime() - askedNanos < PostgresShared.CONFIRMED.toNanos()
          && millis >= 0
          && millis < PostgresShared.CONFIRMED.toMillis();
    }
  }

  private PostgresShards(boolean shared) {
    this.shared = shared;
  }

  /** Of the only host of a schema. */
  static PostgresShards all() {
    return new PostgresShards(false);
  }

  /** Of one of several hosts; it holds none yet. */
  static PostgresShards shared() {
    return new PostgresShards(true);
  }

  boolean isShared() {
    return shared;
  }

  /** Ends the epochs of all hosts that shared a schema, on behalf of one that has it alone. */
  static void endEpochs(Connection connection, String holder) throws SQLException {
    Sql.update(connection, END_EPOCHS, holder);
  }

  void taken(int shard, long epoch) {
    epochs.merge(shard, epoch, Math::max);
  }

  /** The epoch in which the shard was held; null if it was not. */
  @Nullable Long released(int shard) {
    return epochs.remove(shard);
  }

  boolean isHeld(int shard) {
    return epochs.containsKey(shard);
  }

  /** Whether the store has confirmed the epoch of a shard so lately that it still counts. */
  boolean isConfirmed(int shard) {
    Confirmation last = confirmed;
    Long epoch = epochs.get(shard);
    return epoch != null && epoch.equals(last.epochs().get(shard)) && last.isRecent();
  }

  /** Nothing counts as confirmed until the store confirms it again. */
  void unconfirm() {
    confirmed = Confirmation.NONE;
  }

  /** Notes which of the epochs have ended, and when the others were confirmed. */
  void look(Connection connection, long askedNanos, long askedMillis) throws SQLException {
    Map<Integer, Long> current = current(connection);
    confirmed = new Confirmation(current, askedNanos, askedMillis);
  }

  /** The epochs that have not ended; this host does not hold the others any more. */
  Map<Integer, Long> current(Connection connection) throws SQLException {
    SortedMap<Integer, Long> mine = mine();
    Map<Integer, Long> current = new HashMap<>();
    if (!mine.isEmpty()) {
      for (int shard :
          Sql.list(connection, CURRENT, row -> row.getInt(1), shards(mine), epochs(mine))) {
        current.put(shard, mine.remove(shard));
      }
      mine.forEach(epochs::remove);
    }
    return current;
  }

  /**
   * All epochs that are held. A copy constructor takes the size first, and leaves entries out if
   * others are added meanwhile.
   */
  private NavigableMap<Integer, Long> mine() {
    NavigableMap<Integer, Long> mine = new TreeMap<>();
    epochs.forEach(mine::put);
    return mine;
  }

  /** The epochs of these shards, without those that are not held. */
  SortedMap<Integer, Long> epochs(Collection<Integer> shards) {
    SortedMap<Integer, Long> held = mine();
    held.keySet().retainAll(shards);
    return held;
  }

  @Override
  public List<Integer> held() {
    return shared ? List.copyOf(epochs.keySet()) : ALL;
  }

  @Override
  public List<Integer> inTurns() {
    List<Integer> held = new ArrayList<>(held());
    Collections.rotate(held, turn.getAndIncrement());
    return held;
  }

  @Override
  public int of(String persistenceId) {
    return Shard.of(persistenceId);
  }

  @Override
  public String scan(String select) {
    return SCAN.formatted(select.formatted(OF_SHARD));
  }

  @Override
  public Object[] parameters(List<Integer> shards, Object... parameters) {
    List<Object> all = new ArrayList<>(List.of(parameters));
    all.add(0, shards.toArray(Integer[]::new));
    all.add(parameters[parameters.length - 1]);
    return all.toArray();
  }

  @Override
  public long right(String persistenceId) {
    if (!shared) {
      return 0;
    }
    Long epoch = epochs.get(Shard.of(persistenceId));
    if (epoch == null) {
      throw moved(Shard.of(persistenceId));
    }
    return epoch;
  }

  /** Fails if a right is of a shard that was released or lost since. */
  void requireCurrent(int shard, long right) {
    if (shared && !Long.valueOf(right).equals(epochs.get(shard))) {
      throw moved(shard);
    }
  }

  @Override
  public void require(Connection connection, Collection<String> persistenceIds)
      throws SQLException {
    if (shared && !persistenceIds.isEmpty()) {
      SortedMap<Integer, Long> rights = new TreeMap<>();
      persistenceIds.forEach(id -> rights.put(Shard.of(id), right(id)));
      require(connection, rights);
    }
  }

  @Override
  public void requireHeld(Connection connection) throws SQLException {
    if (shared && !epochs.isEmpty()) {
      require(connection, mine());
    }
  }

  private void require(Connection connection, SortedMap<Integer, Long> rights) throws SQLException {
    try {
      Sql.first(connection, REQUIRE, row -> row.getInt(1), shards(rights), epochs(rights));
    } catch (SQLException failed) {
      throw explained(failed);
    }
  }

  /** The shards of rights as a parameter, in ascending order. */
  static Integer[] shards(SortedMap<Integer, Long> rights) {
    return rights.keySet().toArray(Integer[]::new);
  }

  /** Their epochs, in the same order. */
  static Long[] epochs(SortedMap<Integer, Long> rights) {
    return rights.values().toArray(Long[]::new);
  }

  long refusals() {
    return refusals.get();
  }

  /** Notes that a shard is lost, if that is the failure. */
  SQLException explained(SQLException failed) {
    if (MOVED.equals(failed.getSQLState()) && failed instanceof PSQLException refused) {
      refusals.incrementAndGet();
      ServerErrorMessage server = refused.getServerErrorMessage();
      String detail = server == null ? null : server.getDetail();
      if (detail != null) {
        String[] lost = detail.split(" ", 2);
        epochs.remove(Integer.valueOf(lost[0]), Long.valueOf(lost[1]));
      }
    }
    return failed;
  }

  @Override
  public boolean isMoved(Throwable failure) {
    return failure instanceof StoreException known && known.problem() == StoreProblem.MOVED;
  }

  private StoreException moved(int shard) {
    refusals.incrementAndGet();
    return new StoreException(
        StoreProblem.MOVED,
        "This host does not hold shard "
            + shard
            + " of the store any more, or not yet; nothing of this request was written; send it"
            + " again to the host that does",
        (@Nullable Throwable) null);
  }
}

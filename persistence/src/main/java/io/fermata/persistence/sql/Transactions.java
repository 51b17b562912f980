package io.fermata.persistence.sql;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Runs work on pooled connections. */
public interface Transactions {

  /** Corrupt, and not a database. */
  Set<Integer> SQLITE_DAMAGE = Set.of(11, 26);

  /** Busy, locked, read-only, and full. */
  Map<Integer, StoreProblem> SQLITE_PROBLEMS =
      Map.of(
          5, StoreProblem.LOCKED,
          6, StoreProblem.LOCKED,
          8, StoreProblem.READ_ONLY,
          13, StoreProblem.FULL);

  /** Corrupted data, and a corrupted index. */
  Set<String> POSTGRES_DAMAGE = Set.of("XX001", "XX002");

  /** Work that has a connection to itself. */
  interface Work<T> {
    T on(Connection connection) throws SQLException;
  }

  /** Runs work in one transaction. */
  <T> CompletableFuture<T> transact(Work<T> work);

  /** Runs work that needs no transaction around it, such as a single statement. */
  <T> CompletableFuture<T> query(Work<T> work);

  /** Runs work in one transaction of a connection, synchronously. */
  static <T> T transact(Connection connection, Work<T> work) {
    try {
      connection.setAutoCommit(false);
      try {
        T result = work.on(connection);
        commit(connection);
        connection.setAutoCommit(true);
        return result;
      } catch (SQLException | RuntimeException failed) {
        undo(connection, failed);
        throw failed;
      }
    } catch (SQLException failed) {
      throw failed(failed);
    }
  }

  private static void commit(Connection connection) throws SQLException {
    try {
      connection.commit();
    } catch (SQLException cut) {
      throw unsure(cut);
    }
  }

  private static StoreException unsure(SQLException cut) {
    return new StoreException(
        problem(cut),
        "The store failed at the end of a request: "
            + cut.getMessage()
            + "; check whether it was written before you retry",
        cut);
  }

  /** Runs work that needs no transaction, synchronously. */
  static <T> T query(Connection connection, Work<T> work) {
    try {
      return work.on(connection);
    } catch (SQLException failed) {
      throw connectionGone(failed) ? unsure(failed) : failed(failed);
    }
  }

  private static boolean connectionGone(SQLException failed) {
    String state = failed.getSQLState();
    return state != null && (state.startsWith("08") || state.startsWith("57"));
  }

  /** Of PostgreSQL, or of SQLite, which has no states. */
  static boolean isDamage(SQLException failed) {
    String state = failed.getSQLState();
    return state == null
        ? SQLITE_DAMAGE.contains(failed.getErrorCode())
        : POSTGRES_DAMAGE.contains(state);
  }

  /** The first failure is reported, even if the connection breaks as well. */
  static void undo(Connection connection, Exception failed) {
    try {
      connection.rollback();
      connection.setAutoCommit(true);
    } catch (SQLException gone) {
      failed.addSuppressed(gone);
    }
  }

  static StoreException failed(SQLException failed) {
    if (isDamage(failed)) {
      return new DamagedException("The store", "" + failed.getMessage(), failed);
    }
    return new StoreException(
        problem(failed),
        "The store failed: " + failed.getMessage() + "; nothing of this request was written",
        failed);
  }

  private static StoreProblem problem(SQLException failed) {
    String state = failed.getSQLState();
    if (state == null) {
      // The pool of connections has no state either, of a wait that was too long.
      return failed instanceof SQLTransientConnectionException
          ? StoreProblem.AWAY
          : SQLITE_PROBLEMS.getOrDefault(failed.getErrorCode(), StoreProblem.REFUSES);
    }
    return switch (state) {
      case "25006" -> StoreProblem.READ_ONLY;
      case "53100" -> StoreProblem.FULL;
      case "FM001" -> StoreProblem.MOVED;
      default ->
          failed instanceof SQLNonTransientConnectionException
              ? StoreProblem.TAKEN_OVER
              : connectionGone(failed) ? StoreProblem.AWAY : StoreProblem.REFUSES;
    };
  }
}

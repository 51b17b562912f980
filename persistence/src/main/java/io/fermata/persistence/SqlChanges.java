package io.fermata.persistence;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Small changes in the order they were asked for: those that wait together share a transaction, and
 * so one sync of the disk.
 */
final class SqlChanges {

  static final int IN_ONE_TRANSACTION = 400;
  static final int MOST_WAITING = 20_000;

  private final Transactions database;
  private final Queue<Waiting> waiting = new ArrayDeque<>();
  private int transactionsAhead;

  SqlChanges(Transactions database) {
    this.database = database;
  }

  /** One change within a transaction that is not its own. */
  interface Change {
    void on(Connection connection) throws SQLException;
  }

  private record Waiting(Change change, CompletableFuture<@Nullable Void> done) {}

  CompletableFuture<@Nullable Void> make(Change change) {
    CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
    boolean needsTransaction;
    synchronized (waiting) {
      if (waiting.size() >= MOST_WAITING) {
        return CompletableFuture.failedFuture(
            new StoreException(
                MOST_WAITING + " changes are waiting for the store; make this one again later"));
      }
      waiting.add(new Waiting(change, done));
      needsTransaction = waiting.size() > transactionsAhead * IN_ONE_TRANSACTION;
      if (needsTransaction) {
        transactionsAhead++;
      }
    }
    if (needsTransaction) {
      transact();
    }
    return done;
  }

  private void transact() {
    List<Waiting> together = new ArrayList<>();
    CompletionStage<Integer> transaction =
        database.transact(
            connection -> {
              // Not before its turn has come, so that whatever arrives meanwhile goes with it.
              take(together);
              for (Waiting next : together) {
                next.change().on(connection);
              }
              return together.size();
            });
    transaction.whenComplete((made, failure) -> settle(together, failure));
  }

  private void take(List<Waiting> together) {
    synchronized (waiting) {
      transactionsAhead--;
      while (together.size() < IN_ONE_TRANSACTION && !waiting.isEmpty()) {
        together.add(waiting.remove());
      }
    }
  }

  private void settle(List<Waiting> together, @Nullable Throwable failure) {
    if (failure == null) {
      together.forEach(made -> made.done().complete(null));
      return;
    }
    if (together.isEmpty()) {
      // Its turn never came, the database takes no more.
      take(together);
    }
    together.forEach(failed -> failed.done().completeExceptionally(failure));
  }
}

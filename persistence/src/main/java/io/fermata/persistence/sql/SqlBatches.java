package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Small requests in the order they were asked: those that wait together are served together, and so
 * with one sync of the disk or one way to the server.
 *
 * @param <Q> what is asked
 * @param <A> what comes of it
 */
final class SqlBatches<Q, A extends @Nullable Object> {

  /** What most requests bear: their number bounds how long the last of them waits for the first. */
  static final int AT_ONCE = 400;

  static final int MOST_WAITING = 20_000;

  private final Bounds<Q> bounds;
  private final Connections connections;
  private final Service<Q, A> service;
  private final Predicate<Throwable> causedByOne;
  private final Queue<Waiting<Q, A>> waiting = new ArrayDeque<>();
  private int servicesAhead;

  /**
   * @param causedByOne whether a failure is the fault of one request, and nothing of the others was
   *     written: then each is served alone
   */
  SqlBatches(
      Bounds<Q> bounds,
      Connections connections,
      Service<Q, A> service,
      Predicate<Throwable> causedByOne) {
    this.bounds = bounds;
    this.connections = connections;
    this.service = service;
    this.causedByOne = causedByOne;
  }

  /** For requests that are all small. */
  SqlBatches(
      int atOnce,
      Connections connections,
      Service<Q, A> service,
      Predicate<Throwable> causedByOne) {
    this(new Bounds<>(atOnce, Long.MAX_VALUE, request -> 0), connections, service, causedByOne);
  }

  /** How many requests, of what size together, are served at once; one is, however large. */
  record Bounds<Q>(int atOnce, long size, ToLongFunction<Q> sizeOf) {}

  /** Where a service gets a connection: in a transaction, or for a single statement without. */
  interface Connections {
    <T> CompletableFuture<T> use(Transactions.Work<T> work);
  }

  /** Serves requests, and answers each in its place. */
  interface Service<Q, A extends @Nullable Object> {
    List<A> serve(Connection connection, List<Q> together) throws SQLException;
  }

  private record Waiting<Q, A extends @Nullable Object>(Q request, CompletableFuture<A> answer) {}

  CompletableFuture<A> ask(Q request) {
    CompletableFuture<A> answer = new CompletableFuture<>();
    boolean needsService;
    synchronized (waiting) {
      if (waiting.size() >= MOST_WAITING) {
        return CompletableFuture.failedFuture(
            new StoreException(
                MOST_WAITING + " requests are waiting for the store; ask again later"));
      }
      waiting.add(new Waiting<>(request, answer));
      needsService = reserveService();
    }
    if (needsService) {
      serve();
    }
    return answer;
  }

  /** Whether more wait than the services ahead will take. */
  private boolean reserveService() {
    boolean needed = waiting.size() > servicesAhead * bounds.atOnce();
    if (needed) {
      servicesAhead++;
    }
    return needed;
  }

  private void serve() {
    List<Waiting<Q, A>> together = new ArrayList<>();
    CompletionStage<List<A>> served =
        connections.use(
            connection -> {
              // Not before its turn has come, so that whatever arrives meanwhile goes with it.
              take(together);
              return together.isEmpty() ? List.of() : service.serve(connection, requests(together));
            });
    served.whenComplete((answers, failure) -> settle(together, answers, failure));
  }

  private static <Q> List<Q> requests(List<? extends Waiting<Q, ?>> together) {
    List<Q> requests = new ArrayList<>(together.size());
    together.forEach(each -> requests.add(each.request()));
    return requests;
  }

  private void take(List<Waiting<Q, A>> together) {
    boolean leavesSome;
    synchronized (waiting) {
      servicesAhead--;
      long size = 0;
      while (together.size() < bounds.atOnce() && !waiting.isEmpty()) {
        size += bounds.sizeOf().applyAsLong(waiting.element().request());
        if (size > bounds.size() && !together.isEmpty()) {
          break;
        }
        together.add(waiting.remove());
      }
      leavesSome = reserveService();
    }
    if (leavesSome) {
      serve();
    }
  }

  private void settle(
      List<Waiting<Q, A>> together, @Nullable List<A> answers, @Nullable Throwable failure) {
    if (answers != null) {
      for (int i = 0; i < together.size(); i++) {
        together.get(i).answer().complete(answers.get(i));
      }
      return;
    }
    if (together.isEmpty()) {
      // Its turn never came, the database takes no more.
      take(together);
    }
    Throwable why = cause(failure);
    boolean alone = together.size() > 1 && causedByOne.test(why);
    for (Waiting<Q, A> each : together) {
      if (alone) {
        serveAlone(each);
      } else {
        each.answer().completeExceptionally(why);
      }
    }
  }

  private static Throwable cause(@Nullable Throwable failure) {
    Throwable cause = failure instanceof CompletionException wrapped ? wrapped.getCause() : failure;
    return cause == null ? new IllegalStateException("Nothing was answered") : cause;
  }

  private void serveAlone(Waiting<Q, A> each) {
    CompletionStage<List<A>> served =
        connections.use(connection -> service.serve(connection, List.of(each.request())));
    served.whenComplete((answers, failure) -> settle(List.of(each), answers, failure));
  }
}

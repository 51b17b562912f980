package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Serves small requests in order. Those that wait at the same time form a batch, with one disk sync
 * or one round trip.
 *
 * @param <Q> a request
 * @param <A> its result
 */
public final class SqlBatches<Q, A extends @Nullable Object> {

  /** Bounds a batch of most kinds of requests, and with it the wait of its last request. */
  public static final int AT_ONCE = 400;

  static final int MOST_WAITING = 20_000;

  private final Bounds<Q> bounds;
  private final Connections connections;
  private final Service<Q, A> service;
  private final Predicate<Throwable> causedByOne;
  private final Deque<Waiting<Q, A>> waiting = new ArrayDeque<>();
  private int servicesAhead;

  /**
   * @param causedByOne whether a failure is the fault of one request and nothing was written; then
   *     each request is served alone, still before those that came later
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

  /** For requests of bounded size. */
  public SqlBatches(
      int atOnce,
      Connections connections,
      Service<Q, A> service,
      Predicate<Throwable> causedByOne) {
    this(new Bounds<>(atOnce, Long.MAX_VALUE, request -> 0), connections, service, causedByOne);
  }

  /**
   * The bounds of a batch: the number of requests and their total size. A single request may exceed
   * the size.
   */
  record Bounds<Q>(int atOnce, long size, ToLongFunction<Q> sizeOf) {}

  /**
   * How a service gets a connection: within a transaction, or without one for a single statement.
   */
  public interface Connections {
    <T> CompletableFuture<T> use(Transactions.Work<T> work);
  }

  /** Serves a batch and returns the results in order. */
  public interface Service<Q, A extends @Nullable Object> {
    List<A> serve(Connection connection, List<Q> together) throws SQLException;
  }

  /**
   * A request that waits.
   *
   * @param alone whether it is served alone, as its batch has failed
   */
  private record Waiting<Q, A extends @Nullable Object>(
      Q request, CompletableFuture<A> answer, boolean alone) {}

  public CompletableFuture<A> ask(Q request) {
    CompletableFuture<A> answer = new CompletableFuture<>();
    boolean needsService;
    synchronized (waiting) {
      if (waiting.size() >= MOST_WAITING) {
        return CompletableFuture.failedFuture(
            new StoreException(MOST_WAITING + " requests are waiting for the store; retry later"));
      }
      waiting.add(new Waiting<>(request, answer, false));
      needsService = reserveService();
    }
    if (needsService) {
      serve();
    }
    return answer;
  }

  /**
   * How many requests wait, without one for each scheduled service: that waits for its connection.
   */
  int waiting() {
    synchronized (waiting) {
      return Math.max(0, waiting.size() - servicesAhead);
    }
  }

  /** Whether more requests wait than the scheduled services will take. */
  private boolean reserveService() {
    boolean needed = waiting.size() > servicesAhead * bounds.atOnce();
    if (needed) {
      servicesAhead++;
    }
    return needed;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // each request is notified
  private void serve() {
    Batch batch = new Batch();
    connections.use(batch).whenComplete(batch::settle);
  }

  private List<Waiting<Q, A>> take() {
    List<Waiting<Q, A>> together = new ArrayList<>();
    boolean leavesSome;
    synchronized (waiting) {
      servicesAhead--;
      long size = 0;
      boolean alone = false;
      while (together.size() < bounds.atOnce() && !alone && !waiting.isEmpty()) {
        size += bounds.sizeOf().applyAsLong(waiting.element().request());
        if (size > bounds.size() && !together.isEmpty()) {
          break;
        }
        alone = waiting.element().alone();
        together.add(waiting.remove());
      }
      leavesSome = reserveService();
    }
    if (leavesSome) {
      serve();
    }
    return together;
  }

  /** All that wait, when there is no connection for any. */
  private List<Waiting<Q, A>> takeAll() {
    synchronized (waiting) {
      servicesAhead--;
      List<Waiting<Q, A>> all = List.copyOf(waiting);
      waiting.clear();
      return all;
    }
  }

  /** Before all requests that came later. */
  private void putBack(List<Waiting<Q, A>> together) {
    synchronized (waiting) {
      for (int i = together.size() - 1; i >= 0; i--) {
        Waiting<Q, A> each = together.get(i);
        waiting.addFirst(new Waiting<>(each.request(), each.answer(), true));
      }
      servicesAhead += together.size();
    }
    together.forEach(each -> serve());
  }

  /** Requests that are served together. */
  private final class Batch implements Transactions.Work<List<A>> {

    /** Null until there is a connection. */
    private @Nullable List<Waiting<Q, A>> taken;

    @Override
    public List<A> on(Connection connection) throws SQLException {
      // Taken only when the connection is available, so that later arrivals join the batch.
      List<Waiting<Q, A>> together = take();
      taken = together;
      try {
        return together.isEmpty() ? List.of() : service.serve(connection, requests(together));
      } catch (SQLException failed) {
        serveAloneIfOf(Transactions.failed(failed), together);
        throw failed;
      } catch (RuntimeException failed) {
        serveAloneIfOf(failed, together);
        throw failed;
      }
    }

    private void serveAloneIfOf(RuntimeException failed, List<Waiting<Q, A>> together) {
      if (together.size() > 1 && causedByOne.test(failed)) {
        taken = List.of();
        putBack(together);
      }
    }

    void settle(@Nullable List<A> answers, @Nullable Throwable failure) {
      List<Waiting<Q, A>> together = taken == null ? takeAll() : taken;
      for (int i = 0; i < together.size(); i++) {
        if (answers == null) {
          together.get(i).answer().completeExceptionally(cause(failure));
        } else {
          together.get(i).answer().complete(answers.get(i));
        }
      }
    }
  }

  private static <Q> List<Q> requests(List<? extends Waiting<Q, ?>> together) {
    List<Q> requests = new ArrayList<>(together.size());
    together.forEach(each -> requests.add(each.request()));
    return requests;
  }

  private static Throwable cause(@Nullable Throwable failure) {
    return failure == null
        ? new IllegalStateException("The batch returned no results")
        : StoreFailures.of(failure);
  }
}

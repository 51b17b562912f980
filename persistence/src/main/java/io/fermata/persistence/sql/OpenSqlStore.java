package io.fermata.persistence.sql;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.pekko.StoreConfig;
import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Written;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.pekko.actor.setup.Setup;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A store in a relational database while a host uses it. */
public final class OpenSqlStore implements OpenStore {

  private static final Logger LOG = LoggerFactory.getLogger(OpenSqlStore.class);

  /** The rest of a larger backlog is left to the next sweep. */
  private static final int MOST_SWEPT = 10_000;

  /** Of the obsolete tags of due times. */
  private static final int MOST_FORGOTTEN = 100_000;

  private final String name;
  private final byte[] serverKey;
  private final SqlBackend backend;
  private final SqlShards shards;
  private final SqlBatches<SqlChanges.Change, Deleted> changes;
  private final SqlJournals journals;

  /** The journals beside damaged pages of which the log says so already. */
  private final Set<String> notSwept = ConcurrentHashMap.newKeySet();

  private final SqlObsoleteTags work = new SqlObsoleteTags();
  private final SqlObsoleteTags times = new SqlObsoleteTags();
  private final Directory directory = new OpenDirectory();
  private final AtomicBoolean closed = new AtomicBoolean();

  public OpenSqlStore(String name, byte[] serverKey, SqlBackend backend) {
    this.name = name;
    this.serverKey = serverKey;
    this.backend = backend;
    SqlJournal journal = backend.journal();
    this.shards = journal.shards();
    this.changes =
        new SqlBatches<>(
            SqlBatches.AT_ONCE,
            backend.writer()::transact,
            (connection, together) -> SqlChanges.make(connection, journal, together),
            shards::isMoved);
    this.journals = new SqlJournals(backend, work::changed);
  }

  @Override
  public String describe() {
    return name;
  }

  @Override
  public Config config() {
    return StoreConfig.load(StoreConfig.class.getClassLoader(), "fermata-sql-store.conf");
  }

  @Override
  public Setup setup() {
    return new StoreSetup(journals);
  }

  @Override
  public byte[] serverKey() {
    return serverKey.clone();
  }

  @Override
  public void expectNew(String persistenceId) {
    journals.expectNew(persistenceId);
  }

  @Override
  public CompletionStage<List<Unfinished>> unfinished(String after, int max) {
    Slice.requireMax(max);
    return query(
        backend.upkeep(),
        connection -> SqlUpkeep.working(connection, shards, shards.held(), after, max));
  }

  @Override
  public CompletionStage<List<Due>> due(long fromEpochMillis, long untilEpochMillis, int max) {
    return whileOpen(() -> forgetTimes(untilEpochMillis))
        .thenCompose(
            forgotten ->
                query(
                    backend.upkeep(),
                    connection ->
                        SqlUpkeep.due(connection, shards, fromEpochMillis, untilEpochMillis, max)));
  }

  private CompletionStage<Integer> forgetTimes(long until) {
    Transactions.Work<SqlUpkeep.Portion> part =
        connection -> times.forget(connection, shards, JournalTags.due(0), JournalTags.due(until));
    return inPortions(part, MOST_FORGOTTEN / SqlObsoleteTags.AT_ONCE)
        .exceptionallyCompose(
            ifDamaged(() -> backend.writer().query(part).thenApply(SqlUpkeep.Portion::swept)));
  }

  /** A damaged page concerns the sessions on it, so it must not stop what serves all. */
  private static <T> Function<Throwable, CompletionStage<T>> ifDamaged(
      Supplier<CompletionStage<T>> withoutThem) {
    return failure -> {
      Throwable cause = StoreFailures.of(failure);
      return cause instanceof DamagedException
          ? withoutThem.get()
          : CompletableFuture.failedFuture(cause);
    };
  }

  @Override
  public CompletionStage<Integer> sweep(long nowEpochMillis) {
    return whileOpen(
        () ->
            isIdle(nowEpochMillis)
                .thenCompose(
                    idle ->
                        idle
                            ? CompletableFuture.completedFuture(0)
                            : sweepBacklog(nowEpochMillis)));
  }

  /** What a failure has kept from being committed is still to be done. */
  private CompletionStage<Integer> sweepBacklog(long now) {
    int most = backend.dialect().sweptAtOnce();
    return inPortions(
            connection -> SqlUpkeep.sweep(connection, backend.journal(), work, now, most),
            MOST_SWEPT / most)
        .exceptionallyCompose(ifDamaged(() -> sweepEach(now)))
        .whenComplete(
            (swept, failure) -> {
              if (failure != null) {
                work.changed();
              }
            });
  }

  /** Each journal in a transaction of its own. */
  private CompletionStage<Integer> sweepEach(long now) {
    return backend
        .writer()
        .query(connection -> SqlUpkeep.backlog(connection, shards, now, MOST_SWEPT))
        .thenCompose(backlogs -> sweepEach(backlogs, now))
        .thenCompose(
            swept ->
                backend
                    .writer()
                    .query(connection -> SqlUpkeep.forgetWork(connection, shards, work))
                    .thenApply(forgotten -> swept));
  }

  private CompletionStage<Integer> sweepEach(List<SqlUpkeep.Backlog> backlogs, long now) {
    CompletionStage<Integer> swept = CompletableFuture.completedFuture(0);
    for (SqlUpkeep.Backlog backlog : backlogs) {
      swept = swept.thenCompose(before -> sweep(backlog, now).thenApply(more -> before + more));
    }
    return swept;
  }

  private CompletionStage<Integer> sweep(SqlUpkeep.Backlog backlog, long now) {
    return backend
        .writer()
        .transact(connection -> SqlUpkeep.sweep(connection, backend.journal(), backlog, now))
        .exceptionallyCompose(failure -> leftOut(backlog, StoreFailures.of(failure)));
  }

  private CompletionStage<Integer> leftOut(SqlUpkeep.Backlog backlog, Throwable failure) {
    if (failure instanceof DamagedException && notSwept.add(backlog.persistenceId())) {
      LOG.warn("The journal {} could not be swept", backlog.persistenceId(), failure);
    }
    return failure instanceof DamagedException || shards.isMoved(failure)
        ? CompletableFuture.completedFuture(0)
        : CompletableFuture.failedFuture(failure);
  }

  /** The connection that writes is asked, so that a sweep finds out if it is lost. */
  private CompletableFuture<Boolean> isIdle(long now) {
    return work.isDone(shards)
        ? backend.writer().query(connection -> !SqlUpkeep.hasBacklog(connection, shards, now))
        : CompletableFuture.completedFuture(false);
  }

  /** Each in a transaction of its own: what waits for the connection meanwhile comes between. */
  private CompletionStage<Integer> inPortions(
      Transactions.Work<SqlUpkeep.Portion> part, int portions) {
    return inPortions(part, 0, portions);
  }

  private CompletionStage<Integer> inPortions(
      Transactions.Work<SqlUpkeep.Portion> part, int before, int portions) {
    return backend
        .writer()
        .transact(part)
        .exceptionallyCompose(this::withoutTheLost)
        .thenCompose(
            portion -> {
              int swept = before + portion.swept();
              return portion.more() && portions > 1
                  ? inPortions(part, swept, portions - 1)
                  : CompletableFuture.completedFuture(swept);
            });
  }

  /** The next portion leaves out the shard that another host has taken. */
  private CompletableFuture<SqlUpkeep.Portion> withoutTheLost(Throwable failure) {
    Throwable cause = StoreFailures.of(failure);
    return shards.isMoved(cause)
        ? CompletableFuture.completedFuture(new SqlUpkeep.Portion(0, true))
        : CompletableFuture.failedFuture(cause);
  }

  @Override
  public CompletionStage<List<StoredEntry>> read(Slice slice) {
    return query(backend.reader(), connection -> SqlEntries.read(connection, slice));
  }

  /** A store that is busy writing needs no probe behind all that waits. */
  @Override
  public CompletionStage<@Nullable Void> ping() {
    return whileOpen(
        () ->
            CompletableFuture.anyOf(backend.append(SqlMeta::probe), journals.nextAppend())
                .thenAccept(written -> {}));
  }

  @Override
  public CompletionStage<StoreProblem> lost() {
    return backend.lost();
  }

  @Override
  public CompletionStage<Long> newest() {
    return query(backend.upkeep(), SqlEntries::newest);
  }

  @Override
  public CompletionStage<List<Written>> written(long afterNumber, int max) {
    Slice.requireMax(max);
    return query(
        backend.upkeep(), connection -> backend.journal().written(connection, afterNumber, max));
  }

  @Override
  public CompletionStage<List<Written>> writtenByAny(long afterNumber, int max) {
    Slice.requireMax(max);
    return query(
        backend.searches(), connection -> SqlEntries.written(connection, afterNumber, max));
  }

  @Override
  public CompletionStage<List<String>> journals(String after, int max) {
    Slice.requireMax(max);
    return query(backend.searches(), connection -> SqlEntries.journals(connection, after, max));
  }

  @Override
  public Directory directory() {
    return directory;
  }

  @Override
  public CompletionStage<List<String>> journals(String place) {
    return transact(backend.reader(), connection -> SqlNames.named(connection, place));
  }

  /**
   * After pending appends, and in order with the changes of the directory, so that none of them
   * adds a deleted journal again.
   */
  @Override
  public CompletionStage<Deleted> delete(Collection<String> persistenceIds) {
    List<String> ids = List.copyOf(persistenceIds);
    return whileOpen(
        () ->
            journals.written(ids).thenCompose(written -> changes.ask(new SqlChanges.Delete(ids))));
  }

  @Override
  public CompletionStage<@Nullable Void> scrub() {
    return whileOpen(backend::scrub);
  }

  @Override
  public CompletionStage<@Nullable Void> rewrite() {
    return whileOpen(backend::rewrite);
  }

  @Override
  public CompletionStage<Integer> importJournal(
      String persistenceId, Iterable<NewEntry> records, @Nullable DirectoryEntry listed) {
    List<SqlChanges.Change> puts =
        Stream.ofNullable(listed).<SqlChanges.Change>map(SqlChanges.Put::new).toList();
    return transact(
            backend.writer(),
            connection -> {
              SqlJournal journal = backend.journal();
              int added = SqlEntries.add(connection, journal, persistenceId, records);
              SqlChanges.make(connection, journal, puts);
              return added;
            })
        .whenComplete((added, failure) -> work.changed());
  }

  @Override
  public CompletionStage<@Nullable Void> backup(Path file) {
    return whileOpen(() -> backend.backup(file));
  }

  @Override
  public Optional<SharedStore> shared() {
    return backend.shared();
  }

  @Override
  public List<StorePool> pools() {
    return backend.pools(journals::waitingAppends, journals::waitingWakes, changes::waiting);
  }

  private <T> CompletionStage<T> transact(Transactions connections, Transactions.Work<T> work) {
    return whileOpen(() -> connections.transact(work));
  }

  private <T> CompletionStage<T> query(Transactions connections, Transactions.Work<T> work) {
    return whileOpen(() -> connections.query(work));
  }

  private <T extends @Nullable Object> CompletionStage<T> whileOpen(
      Supplier<CompletionStage<T>> work) {
    return closed.get()
        ? CompletableFuture.failedFuture(
            new StoreException(name + " is closed; open the store again"))
        : work.get();
  }

  /** The directory while the store is open. */
  private final class OpenDirectory implements Directory {

    private CompletionStage<@Nullable Void> change(SqlChanges.Change change) {
      return whileOpen(() -> changes.ask(change).thenAccept(deleted -> {}));
    }

    @Override
    public CompletionStage<@Nullable Void> put(DirectoryEntry entry) {
      return change(new SqlChanges.Put(entry));
    }

    @Override
    public CompletionStage<@Nullable Void> remove(String persistenceId) {
      return change(new SqlChanges.Remove(persistenceId));
    }

    @Override
    public CompletionStage<Optional<DirectoryEntry>> get(String persistenceId) {
      return query(backend.reader(), connection -> SqlDirectory.get(connection, persistenceId));
    }

    @Override
    public CompletionStage<DirectoryPage> list(DirectoryQuery query) {
      return transact(
          backend.searches(),
          connection ->
              SqlDirectory.list(connection, backend.dialect(), backend.journal().texts(), query));
    }

    @Override
    public CompletionStage<Integer> count(DirectoryQuery query, int most) {
      return transact(
          isOfOne(query) ? backend.reader() : backend.searches(),
          connection ->
              SqlDirectory.count(
                  connection, backend.dialect(), backend.journal().texts(), query, most));
    }

    /** What one principal has is counted before its calls, so never behind searches. */
    private static boolean isOfOne(DirectoryQuery query) {
      return query.principal() != null && query.text() == null;
    }

    @Override
    public CompletionStage<@Nullable Void> mark(long number) {
      return change(new SqlChanges.Mark(number));
    }

    @Override
    public CompletionStage<Long> marked() {
      return query(backend.upkeep(), backend.journal()::marked);
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      backend.close();
    }
  }
}

package io.fermata.session.runs;

import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.RunState;
import io.fermata.persistence.Store;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.admin.Runs;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Encryption;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever keeps news of runs from being entered, their journals bring it. */
@Tag("slow")
class SessionDirectoryTest {
  private static final int RUNS = 5;
  private static final String THREAD = "agent:t|t.1";

  private final List<RunRow> rows = new ArrayList<>();
  private final OpenStore store;
  private final SessionDirectory directory;
  private final List<String> read = new CopyOnWriteArrayList<>();
  private final Map<String, CompletableFuture<Void>> held = new ConcurrentHashMap<>();
  private Function<DirectoryEntry, CompletionStage<?>> put;

  SessionDirectoryTest(@TempDir Path folder) {
    Store file = Store.sqlite(folder.resolve("fermata.db"));
    List<String> ids = new ArrayList<>();
    try (TestHost host = new TestHost(file, TestFlows.trip())) {
      for (int i = 0; i < RUNS; i++) {
        TestHost.Client client = host.client();
        ToolReply reply = client.start();
        client.proceed("from", "Ulm");
        ids.add("trip|" + reply.meta().path("fermata/run").path("runId").textValue());
      }
    }
    store = file.open();
    put = store.directory()::put;
    RunJournals journals = new RunJournals(store, Encryption.ofEnvironment());
    for (String id : ids) {
      rows.add(Objects.requireNonNull(now(journals.read(RunRow.session(id))).live()));
    }
    directory =
        new SessionDirectory(
            watched(),
            Encryption.ofEnvironment(),
            InstantSource.system(),
            threads -> CompletableFuture.completedFuture(null));
  }

  /**
   * The store, whose directory does what the test says when something is entered. It pages journals
   * and what was written, notes which journals are read, and lets reads wait that the test holds.
   */
  private OpenStore watched() {
    Directory real = store.directory();
    Directory directory =
        (Directory)
            Proxy.newProxyInstance(
                Directory.class.getClassLoader(),
                new Class<?>[] {Directory.class},
                (proxy, method, arguments) ->
                    method.getName().equals("put")
                        ? put.apply((DirectoryEntry) arguments[0])
                        : invoke(() -> method.invoke(real, arguments)));
    return (OpenStore)
        Proxy.newProxyInstance(
            OpenStore.class.getClassLoader(),
            new Class<?>[] {OpenStore.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("directory")) {
                return directory;
              } else if (method.getName().equals("written")) {
                arguments[1] = 2;
              } else if (method.getName().equals("journals") && arguments.length == 2) {
                arguments[1] = 2;
              } else if (method.getName().equals("read") && arguments.length == 3) {
                String journal = (String) arguments[0];
                read.add(journal);
                CompletableFuture<Void> waits = held.get(journal);
                if (waits != null) {
                  return waits.thenCompose(
                      released -> store.read(journal, (Long) arguments[1], (Integer) arguments[2]));
                }
              }
              return invoke(() -> method.invoke(store, arguments));
            });
  }

  /** The same, shared with other hosts. */
  private OpenStore shared() {
    OpenStore watched = watched();
    SharedStore shards =
        (SharedStore)
            Proxy.newProxyInstance(
                SharedStore.class.getClassLoader(),
                new Class<?>[] {SharedStore.class},
                (proxy, method, arguments) -> CompletableFuture.completedFuture(null));
    return (OpenStore)
        Proxy.newProxyInstance(
            OpenStore.class.getClassLoader(),
            new Class<?>[] {OpenStore.class},
            (proxy, method, arguments) ->
                method.getName().equals("shared")
                    ? Optional.of(shards)
                    : invoke(() -> method.invoke(watched, arguments)));
  }

  private interface Invocation {
    Object made() throws IllegalAccessException, InvocationTargetException;
  }

  private static Object invoke(Invocation invocation) throws Throwable {
    try {
      return invocation.made();
    } catch (InvocationTargetException thrown) {
      throw thrown.getCause();
    }
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  /**
   * The directory has caught up, but the entries are gone, and the mark lies before their records.
   */
  @BeforeEach
  void nothingIsEntered() {
    now(store.directory().mark(0));
    directory.start();
    now(directory.caughtUp());
    rows.forEach(row -> now(store.directory().remove(row.id())));
    assertThat(entered()).isEmpty();
  }

  @AfterEach
  void close() {
    directory.stop();
    store.close();
  }

  private List<String> entered() {
    return rows.stream()
        .map(RunRow::id)
        .filter(id -> now(store.directory().get(id)).isPresent())
        .toList();
  }

  private void soonAllAreEntered() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (entered().size() < RUNS && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    assertThat(entered()).hasSize(RUNS);
  }

  @Test
  void changesThatCameWhileTooManyWaitedAreFoundInTheJournals() throws Exception {
    CountDownLatch entering = new CountDownLatch(1);
    CompletableFuture<Void> storeIsBack = new CompletableFuture<>();
    put =
        entry -> {
          entering.countDown();
          return storeIsBack;
        };
    directory.runChanged(new RunRow("first", RunState.NONE, null, 1), false);
    assertThat(entering.await(60, TimeUnit.SECONDS)).isTrue();
    for (int i = 0; i < SessionDirectory.MOST; i++) {
      directory.runChanged(new RunRow("flow" + i, RunState.NONE, null, 1), false);
    }
    rows.forEach(row -> directory.runChanged(row, true));

    Directory real = store.directory();
    put =
        entry ->
            entry.name().equals("trip") ? real.put(entry) : CompletableFuture.completedFuture(null);
    storeIsBack.complete(null);
    soonAllAreEntered();
  }

  @Test
  void whatAStoreThatFailedInTheMiddleDidNotTakeIsFoundInTheJournals() throws Exception {
    AtomicInteger left = new AtomicInteger(2);
    CountDownLatch failing = new CountDownLatch(2);
    Directory real = store.directory();
    put =
        entry -> {
          if (left.getAndDecrement() > 0) {
            return real.put(entry);
          }
          failing.countDown();
          return CompletableFuture.failedFuture(new IOException("The disk is gone"));
        };
    rows.forEach(row -> directory.runChanged(row, true));
    assertThat(failing.await(60, TimeUnit.SECONDS)).isTrue();
    put = real::put;
    soonAllAreEntered();
  }

  private static DirectoryEntry thread() {
    return new DirectoryEntry(THREAD, "thread", "ann", "t", 1, 1, 1, Set.of("tag"), Map.of());
  }

  @Test
  void aThreadWhoseShardHasMovedHoldsNothingUpAndIsNotListedHereLater() throws Exception {
    AtomicInteger refused = new AtomicInteger();
    Directory real = store.directory();
    put =
        entry -> {
          if (entry.kind().equals("thread")) {
            refused.incrementAndGet();
            return CompletableFuture.failedFuture(
                new StoreException(StoreProblem.MOVED, "The shard has moved", null));
          }
          return real.put(entry);
        };
    directory.threadChanged(thread());
    now(directory.entered());
    directory.lookAgain();
    soonAllAreEntered();

    put = real::put;
    now(directory.entered());
    assertThat(refused).hasValue(1);
    assertThat(now(real.get(THREAD))).isEmpty();
  }

  @Test
  void aThreadThatTheStoreDidNotTakeIsListedOnceItIsBack() {
    now(store.importJournal(THREAD, List.of(threadEntry())));
    put = entry -> CompletableFuture.failedFuture(new IOException("The disk is gone"));
    directory.threadChanged(thread());
    now(directory.entered());

    put = store.directory()::put;
    now(directory.entered());
    assertThat(now(store.directory().get(THREAD))).isPresent();
  }

  @Test
  void aThreadIsNotListedWithAnEntryThatTheStoreHasLostMeanwhile() {
    put = entry -> CompletableFuture.failedFuture(new IOException("The server is gone"));
    directory.threadChanged(thread());
    now(directory.entered());

    put = store.directory()::put;
    now(directory.entered());
    assertThat(now(store.directory().get(THREAD))).isEmpty();
    assertThat(now(store.read(THREAD, 1, 1))).isEmpty();
  }

  @Test
  void norIsAThreadThatWasReportedWhileTheStoreFailed() {
    String other = "agent:t|t.2";
    put =
        entry -> {
          directory.threadChanged(
              new DirectoryEntry(other, "thread", "ann", "t", 1, 1, 1, Set.of("tag"), Map.of()));
          return CompletableFuture.failedFuture(new IOException("The server is gone"));
        };
    directory.threadChanged(thread());
    now(directory.entered());

    put = store.directory()::put;
    now(directory.entered());
    assertThat(now(store.directory().get(other))).isEmpty();
  }

  @Test
  void aThreadOfAShardThatIsGivenUpIsListedByItsNextHostOnly() {
    put = entry -> CompletableFuture.failedFuture(new IOException("The disk is gone"));
    directory.threadChanged(thread());
    now(directory.entered());
    directory.closed(Shard.of(THREAD));

    put = store.directory()::put;
    now(directory.entered());
    assertThat(now(store.directory().get(THREAD))).isEmpty();
  }

  @Test
  void theMarkAdvancesAlsoIfOnlyThreadsChange() throws Exception {
    directory.threadChanged(thread());

    long newest = now(store.newest());
    eventually(() -> now(store.directory().marked()) >= newest);
  }

  private static NewEntry threadEntry() {
    return new NewEntry(new StoredEntry(1, 1, "m", new byte[1]), 1, Set.of());
  }

  @Test
  void aThreadThatIsBeingWokenToReportItselfIsWokenAgainByTheNextStart() {
    now(store.importJournal(THREAD, List.of(threadEntry())));
    List<String> woken = new ArrayList<>();
    for (CompletableFuture<Void> begun :
        List.of(
            CompletableFuture.<Void>completedFuture(null),
            CompletableFuture.<Void>failedFuture(new IllegalStateException("The host closes")))) {
      SessionDirectory waking =
          new SessionDirectory(
              store,
              Encryption.ofEnvironment(),
              InstantSource.system(),
              threads -> {
                woken.addAll(threads);
                return begun;
              });
      now(waking.caughtUp());
      waking.close(true);
    }
    now(directory.caughtUp());
    assertThat(woken).containsExactly(THREAD, THREAD);
    assertThat(now(store.directory().marked())).isLessThan(now(store.newest()));
  }

  private List<String> sessions() {
    return rows.stream().map(row -> RunRow.session(row.id())).toList();
  }

  @Test
  void aJournalIsReadOnceHoweverOftenItWasWritten() {
    read.clear();
    now(directory.caughtUp());
    assertThat(read).containsExactlyInAnyOrderElementsOf(sessions());
  }

  @Test
  void aShardThatOpensIsReadWithoutTheOthersOfThisHost() {
    int first = Shard.of(sessions().get(0));
    List<String> others = sessions().stream().filter(id -> Shard.of(id) != first).toList();
    SessionDirectory shared =
        new SessionDirectory(
            shared(),
            Encryption.ofEnvironment(),
            InstantSource.system(),
            threads -> CompletableFuture.completedFuture(null));
    shared.opened(first, 0);
    now(shared.caughtUp());
    read.clear();
    others.forEach(id -> shared.opened(Shard.of(id), 0));
    now(shared.caughtUp());
    assertThat(read).containsExactlyInAnyOrderElementsOf(others);
    shared.stop();
  }

  /** Reads of it wait from now on, until what is returned is completed. */
  private CompletableFuture<Void> hold(RunRow row) {
    CompletableFuture<Void> released = new CompletableFuture<>();
    held.put(RunRow.session(row.id()), released);
    return released;
  }

  private void soonIsRead(RunRow row) throws InterruptedException {
    eventually(() -> read.contains(RunRow.session(row.id())));
  }

  @Test
  void whatIsErasedWhileTheListIsRebuiltIsGoneBeforeTheRebuildHasEnded() throws Exception {
    rows.sort(Comparator.comparing(row -> RunRow.session(row.id())));
    RunRow erased = rows.get(1);
    String session = RunRow.session(erased.id());
    CompletableFuture<Void> first = hold(rows.get(0));
    CompletableFuture<Void> third = hold(rows.get(2));
    read.clear();
    CompletableFuture<Runs.Rebuilt> rebuilt = directory.rebuild().toCompletableFuture();
    soonIsRead(rows.get(0));
    directory.runChanged(erased, false);
    CompletionStage<Void> forgotten = directory.forget(session::equals);
    first.complete(null);
    now(forgotten);
    now(store.delete(List.of(session)));
    assertThat(rebuilt).isNotDone();
    assertThat(entered()).containsExactly(rows.get(0).id());

    third.complete(null);
    assertThat(now(rebuilt)).isEqualTo(new Runs.Rebuilt(RUNS, RUNS, 0));
    assertThat(entered()).hasSize(RUNS - 1).doesNotContain(erased.id());
  }

  @Test
  void whatIsErasedAfterItWasReadIsUnlistedBeforeTheRebuildHasEnded() throws Exception {
    rows.sort(Comparator.comparing(row -> RunRow.session(row.id())));
    RunRow erased = rows.get(1);
    String session = RunRow.session(erased.id());
    Directory real = store.directory();
    put =
        entry ->
            entry.persistenceId().equals(erased.id())
                ? store.delete(List.of(session)).thenCompose(deleted -> real.put(entry))
                : real.put(entry);
    CompletableFuture<Void> third = hold(rows.get(2));
    read.clear();
    CompletableFuture<Runs.Rebuilt> rebuilt = directory.rebuild().toCompletableFuture();
    soonIsRead(rows.get(2));
    assertThat(entered()).containsExactly(rows.get(0).id());

    third.complete(null);
    now(rebuilt);
    assertThat(entered()).hasSize(RUNS - 1).doesNotContain(erased.id());
  }
}

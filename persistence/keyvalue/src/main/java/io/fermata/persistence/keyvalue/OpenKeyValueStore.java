package io.fermata.persistence.keyvalue;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.StoreConfig;
import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.ServerKey;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.spi.Written;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pekko.actor.setup.Setup;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A key-value store while a host uses it. */
final class OpenKeyValueStore implements OpenStore {

  private static final Logger LOG = LoggerFactory.getLogger(OpenKeyValueStore.class);

  /** Every record rewrites the whole value, until a snapshot shortens it. */
  private static final int SNAPSHOT_EVERY = 20;

  private static final int THREADS = 2;
  static final String SERVER_KEY = "server-key";
  private static final int TRIES = 10;

  /** How long each step of closing waits for the store. */
  private static final int CLOSING_SECONDS = 5;

  private final KvCalls kv;
  private final ScheduledThreadPoolExecutor executor;
  private final Runnable release;
  private final byte[] serverKey;
  private final KvIndex index;
  private final KvJournals journals;
  private final Directory directory;
  private final Future<?> cleaning;

  private OpenKeyValueStore(KvCalls kv, ScheduledThreadPoolExecutor executor, Runnable release) {
    this.kv = kv;
    this.executor = executor;
    this.release = release;
    this.serverKey = serverKey(kv);
    this.index =
        new KvIndex(
            kv, executor, UUID.randomUUID().toString(), InstantSource.system(), System::nanoTime);
    this.journals = new KvJournals(kv, index, executor);
    this.directory = new KvDirectory(journals, kv.name());
    index.load().join();
    long often = KvShard.RESTS.toMillis();
    this.cleaning =
        executor.scheduleWithFixedDelay(this::clean, often, often, TimeUnit.MILLISECONDS);
  }

  static OpenStore open(KeyValueStore.Opened opened) {
    ScheduledThreadPoolExecutor executor = threads();
    try {
      KvCalls kv = new KvCalls(opened.store(), KvCalls.TIMEOUT, executor);
      OpenStore open = new OpenKeyValueStore(kv, executor, opened.release());
      warnOfLimits(opened.store());
      return open;
    } catch (RuntimeException e) {
      executor.shutdownNow();
      opened.release().run();
      throw StoreFailures.of(e) instanceof StoreException known ? known : e;
    }
  }

  private void clean() {
    index
        .clean(false)
        .whenComplete(
            (done, thrown) -> {
              if (thrown != null) {
                LOG.info("The index of {} could not be cleaned; will try again", kv.name(), thrown);
              }
            });
  }

  /** Verifies a store that hosts may have open. */
  static Verified verify(KeyValueStore.Opened opened, Consumer<String> damage) {
    ScheduledThreadPoolExecutor executor = threads();
    try {
      return KvVerification.of(new KvCalls(opened.store(), KvCalls.TIMEOUT, executor), damage);
    } finally {
      executor.shutdownNow();
      opened.release().run();
    }
  }

  private static ScheduledThreadPoolExecutor threads() {
    ScheduledThreadPoolExecutor executor =
        new ScheduledThreadPoolExecutor(
            THREADS,
            work -> {
              Thread thread = new Thread(work, "fermata-key-value");
              thread.setDaemon(true);
              return thread;
            });
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }

  private static void warnOfLimits(KvStore store) {
    LOG.warn(
        "{} is a key-value store: it keeps the state of every session and no history."
            + " Threads cannot be listed, and records are kept only back to the snapshot"
            + " before last, so older messages cannot be read and longer runs cannot"
            + " be replayed. Use a database to keep it all",
        store.describe());
    if (!store.compares()) {
      LOG.warn(
          "{} cannot compare and set atomically: if two processes write a session at the"
              + " same moment, an acknowledged write of one is lost. Use it with one host"
              + " at a time",
          store.describe());
    }
  }

  /** The key as it is stored, after a write that was not overtaken. */
  private static byte[] serverKey(KvCalls kv) {
    for (int tries = 0; tries < TRIES; tries++) {
      boolean written = touch(kv, ServerKey.random()).toCompletableFuture().join();
      Optional<KvStore.Versioned> kept = kv.get(SERVER_KEY).toCompletableFuture().join();
      if (written && kept.isPresent()) {
        return kept.get().value();
      }
    }
    throw new StoreException(
        kv.name()
            + " does not keep what is written; check its address, that it is not full, and that it"
            + " compares versions");
  }

  /**
   * Writes the stored server key again, as a store that is full or a replica can still be read.
   *
   * @param lost what is written if there is none
   * @return whether no other host wrote it meanwhile
   */
  private static CompletionStage<Boolean> touch(KvCalls kv, byte[] lost) {
    return kv.get(SERVER_KEY)
        .thenCompose(
            found ->
                kv.set(
                    SERVER_KEY,
                    found.map(KvStore.Versioned::value).orElse(lost),
                    found.map(KvStore.Versioned::version).orElse(null),
                    null,
                    true))
        .thenApply(Optional::isPresent);
  }

  @Override
  public String describe() {
    return kv.name();
  }

  @Override
  public Config config() {
    return StoreConfig.load(
        OpenKeyValueStore.class.getClassLoader(), "fermata-keyvalue-store.conf");
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
  public boolean supportsListing() {
    return false;
  }

  @Override
  public int snapshotEvery(int wished) {
    return Math.min(wished, SNAPSHOT_EVERY);
  }

  @Override
  public void expectNew(String persistenceId) {
    journals.expectNew(persistenceId);
  }

  @Override
  public CompletionStage<List<Unfinished>> unfinished(String after, int max) {
    Slice.requireMax(max);
    return kv.whileOpen(
        () ->
            index
                .until(
                    KvDocument.WORKING,
                    after,
                    max,
                    demand -> demand == KvDocument.WORKING,
                    this::demand)
                .thenApply(
                    found ->
                        found.stream()
                            .map(Due::persistenceId)
                            .map(id -> new Unfinished(id, id))
                            .toList()));
  }

  @Override
  public CompletionStage<List<Due>> due(long fromEpochMillis, long untilEpochMillis, int max) {
    // The mark of a journal may be earlier than its demand, so all marks are looked at.
    long earliest = Math.max(0, fromEpochMillis);
    return kv.whileOpen(
        () -> index.until(untilEpochMillis, "", max, demand -> demand >= earliest, this::demand));
  }

  private CompletionStage<Long> demand(String persistenceId) {
    return journals.read(persistenceId).thenApply(KvDocument::demand);
  }

  /**
   * There is nothing to sweep: the end of a run drops its earlier records, and expires by itself
   * where the store supports it.
   */
  @Override
  public CompletionStage<Integer> sweep(long nowEpochMillis) {
    return kv.whileOpen(() -> CompletableFuture.completedFuture(0));
  }

  @Override
  public CompletionStage<@Nullable Void> ping() {
    return kv.whileOpen(() -> touch(kv, serverKey).thenAccept(written -> {}));
  }

  @Override
  public CompletionStage<List<StoredEntry>> read(Slice slice) {
    return journals.last(slice.persistenceId()).thenApply(document -> document.read(slice));
  }

  @Override
  public Directory directory() {
    return directory;
  }

  @Override
  public CompletionStage<List<String>> journals(String after, int max) {
    Slice.requireMax(max);
    return unlisted();
  }

  @Override
  public CompletionStage<List<String>> journals(String place) {
    return unlisted();
  }

  @Override
  public CompletionStage<Long> newest() {
    return unlisted();
  }

  @Override
  public CompletionStage<List<Written>> written(long afterNumber, int max) {
    Slice.requireMax(max);
    return unlisted();
  }

  private <T> CompletionStage<T> unlisted() {
    return kv.whileOpen(
        () -> CompletableFuture.failedFuture(NoHistoryException.unlisted(kv.name())));
  }

  @Override
  public CompletionStage<Deleted> delete(Collection<String> persistenceIds) {
    CompletionStage<Deleted> all = CompletableFuture.completedFuture(Deleted.NOTHING);
    for (String persistenceId : Set.copyOf(persistenceIds)) {
      all = all.thenCompose(before -> forget(persistenceId).thenApply(before::and));
    }
    return all;
  }

  private CompletionStage<Deleted> forget(String persistenceId) {
    return journals
        .read(persistenceId)
        .thenApply(KvDocument::content)
        .exceptionallyCompose(OpenKeyValueStore::uncounted)
        .thenCompose(content -> journals.forget(persistenceId).thenApply(forgotten -> content));
  }

  /** What is damaged can be deleted, but not counted. */
  private static CompletionStage<Deleted> uncounted(Throwable thrown) {
    return StoreFailures.of(thrown) instanceof DamagedException
        ? CompletableFuture.completedFuture(Deleted.NOTHING)
        : CompletableFuture.failedFuture(thrown);
  }

  /** Removed values cannot be read any more from outside. */
  @Override
  public CompletionStage<@Nullable Void> scrub() {
    return kv.whileOpen(() -> CompletableFuture.completedFuture(null));
  }

  @Override
  public CompletionStage<Integer> importJournal(
      String persistenceId, Iterable<NewEntry> records, @Nullable DirectoryEntry listed) {
    List<SerializedEntry> adopted = new ArrayList<>();
    try {
      SerializedEntry.imported(persistenceId, records).forEachRemaining(adopted::add);
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
    return journals
        .change(
            persistenceId,
            there -> {
              if (!there.records().isEmpty()) {
                throw NewEntry.present(persistenceId);
              }
              return adopted.isEmpty() ? there : KvDocument.of(adopted).listed(listed);
            })
        .thenApply(document -> adopted.size());
  }

  @Override
  public CompletionStage<@Nullable Void> backup(Path file) {
    return CompletableFuture.failedFuture(KeyValueStore.noBackup(kv.name()));
  }

  @Override
  public void close() {
    if (!kv.close()) {
      return;
    }
    cleaning.cancel(false);
    try {
      join(journals.idle());
      join(index.clean(true).toCompletableFuture());
    } catch (CompletionException unclean) {
      LOG.info(
          "The index of {} has stale marks, so the next start checks some journals in vain",
          kv.name());
    } finally {
      executor.shutdown();
      journals.abandon();
      release.run();
    }
  }

  private static void join(CompletableFuture<@Nullable Void> work) {
    work.completeOnTimeout(null, CLOSING_SECONDS, TimeUnit.SECONDS).join();
  }
}

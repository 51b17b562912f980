package io.fermata.session.host;

import io.fermata.agent.history.BackwardReader;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.history.MessagePage;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.thread.ThreadFeed;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the journals of threads, without waking them. */
final class ThreadJournals {
  /** How many feeds read at once, and how many requests read messages. */
  private static final int READS = 8;

  /** How many bytes of entries a feed reads at once, if they are several. */
  private static final long FED = 64 << 10;

  private static final int PAGE = 32;

  /** How many characters a page of messages has at most, if they are several. */
  private static final long PAGE_CHARACTERS = 1 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(ThreadJournals.class);

  private final OpenStore store;
  private final Encryption encryption;
  private final Executor executor;
  private final Executor feedThreads;
  private final BoundedWork feeding = new BoundedWork(READS);
  private final BoundedWork reading = new BoundedWork(READS);

  /**
   * @param feedThreads read for feeds
   */
  ThreadJournals(OpenStore store, Encryption encryption, Executor executor, Executor feedThreads) {
    this.store = store;
    this.encryption = encryption;
    this.executor = executor;
    this.feedThreads = feedThreads;
  }

  static ThreadException unknown() {
    return new ThreadException(HostError.UNKNOWN_THREAD.failure());
  }

  /** The state of a thread after all that its journal has. */
  CompletionStage<ThreadState> state(String entityId) {
    return StoreErrors.translated(
        JournalPages.foldAsync(
            store,
            entityId,
            1,
            ThreadState.NONE,
            (state, stored) -> {
              Entry<ThreadEvent> next = entry(entityId, stored);
              return state.apply(next.events(), next.seq());
            },
            executor));
  }

  // --- messages and files ----------------------------------------------------------------------

  /** A page of messages, latest first. */
  CompletionStage<Threads.Messages> messages(String entityId, Threads.MessageQuery query) {
    MessagePage page =
        new MessagePage(query.limit(), PAGE_CHARACTERS, query.shown(), query.since());
    HistoryReader reader = new HistoryReader(query.before(), query.depth(), page);
    long end = query.upTo() == Long.MAX_VALUE ? Long.MAX_VALUE : query.upTo() + 1;
    return StoreErrors.translated(rewinding(entityId, end, reader, reader::holdsMessages))
        .thenApplyAsync(
            read -> {
              if (!reader.begun()) {
                throw new ThreadException(
                    HostError.UNKNOWN_MESSAGE,
                    "The thread has no message %s to read before; pass the before of an earlier page"
                        .formatted(query.before()));
              }
              return new Threads.Messages(page.messages(), page.next());
            },
            executor);
  }

  private static ThreadException deleted() {
    return new ThreadException(HostError.UNKNOWN_THREAD.failure("The thread was deleted"));
  }

  /** Reads a journal back until the reader has enough. */
  <R extends BackwardReader> CompletionStage<R> rewound(String entityId, R reader) {
    return StoreErrors.translated(rewinding(entityId, Long.MAX_VALUE, reader, () -> false))
        .thenApply(read -> reader);
  }

  /** Gives its turn back after each page of the journal, unless the reader holds something. */
  private CompletionStage<Long> rewinding(
      String entityId, long beforeSeq, BackwardReader reader, BooleanSupplier holds) {
    return reading
        .enqueue(() -> turn(entityId, beforeSeq, reader, holds))
        .thenCompose(
            next ->
                next == 0
                    ? CompletableFuture.completedFuture(next)
                    : rewinding(entityId, next, reader, holds));
  }

  private CompletionStage<Long> turn(
      String entityId, long beforeSeq, BackwardReader reader, BooleanSupplier holds) {
    return store
        .readBack(entityId, beforeSeq, PAGE)
        .thenComposeAsync(
            records ->
                records.isEmpty()
                    ? exhausted(entityId, beforeSeq)
                    : CompletableFuture.completedFuture(take(entityId, records, reader)),
            executor)
        .thenCompose(
            next ->
                next > 0 && holds.getAsBoolean()
                    ? turn(entityId, next, reader, holds)
                    : CompletableFuture.completedFuture(next));
  }

  /**
   * Refuses a thread without any entry, which the directory forgets later; of others a store may
   * keep none before another.
   */
  private CompletionStage<Long> exhausted(String entityId, long beforeSeq) {
    CompletionStage<Boolean> kept =
        beforeSeq == Long.MAX_VALUE
            ? CompletableFuture.completedFuture(false)
            : store.readBack(entityId, Long.MAX_VALUE, 1).thenApply(last -> !last.isEmpty());
    return kept.thenApply(
        there -> {
          if (!there) {
            throw deleted();
          }
          return 0L;
        });
  }

  /** Returns before which entry to read on; 0 for nowhere. */
  private long take(String entityId, List<StoredEntry> records, BackwardReader reader) {
    for (StoredEntry stored : records) {
      List<ThreadEvent> events = entry(entityId, stored).events();
      if (ThreadForks.deletes(events)) {
        throw deleted();
      }
      reader.take(events);
      if (reader.full()) {
        return 0;
      }
    }
    long first = records.get(records.size() - 1).seq();
    return records.size() < PAGE || first == 1 ? 0 : first;
  }

  CompletionStage<byte[]> bytes(String entityId, ThreadStorage.StoredFile file) {
    return StoreErrors.translated(
        store
            .read(entityId, file.seq(), 1)
            .thenApplyAsync(records -> written(entityId, records, file.index()), executor));
  }

  private byte[] written(String entityId, List<StoredEntry> records, int index) {
    for (StoredEntry stored : records) {
      List<ThreadEvent> events = entry(entityId, stored).events();
      if (index < events.size() && events.get(index) instanceof ThreadEvent.FileWritten file) {
        return file.data();
      }
    }
    throw new ThreadException(HostError.UNKNOWN_FILE, "The bytes of the file are no longer stored");
  }

  // --- forks -----------------------------------------------------------------------------------

  /**
   * A whole journal.
   *
   * @param encrypted whether any of it is
   */
  record WholeThread(List<JournalEntry<ThreadEvent>> entries, boolean encrypted) {
    WholeThread and(JournalEntry<ThreadEvent> entry, boolean isEncrypted) {
      entries.add(entry);
      return new WholeThread(entries, encrypted || isEncrypted);
    }
  }

  /** A whole journal, for a fork. */
  CompletionStage<WholeThread> entries(String entityId) {
    AtomicLong bytes = new AtomicLong();
    return StoreErrors.translated(
        JournalPages.foldAsync(
            store,
            entityId,
            1,
            new WholeThread(new ArrayList<>(), false),
            (read, stored) -> {
              if (bytes.addAndGet(stored.payload().length) > JournalPages.LONGEST_WHOLE) {
                throw new ThreadException(
                    HostError.THREAD_TOO_LARGE,
                    "The journal of the thread has more than %s MiB, so it cannot be forked; begin a new thread"
                        .formatted(JournalPages.LONGEST_WHOLE >> 20));
              }
              return read.and(entry(entityId, stored).ofThread(), Encryption.isEncrypted(stored));
            },
            executor));
  }

  /** Refuses a thread that was deleted, also if another one was created under its id. */
  CompletionStage<Void> requireKept(ThreadKey source, ThreadEvent.Created created) {
    String entityId = source.entityId();
    return StoreErrors.translated(
        store
            .readBack(entityId, Long.MAX_VALUE, 1)
            .thenComposeAsync(
                last ->
                    has(entityId, last, ThreadEvent.Deleted.class::isInstance)
                        ? CompletableFuture.completedFuture(List.of())
                        : store.read(entityId, 1, 1),
                executor)
            .thenAcceptAsync(
                first -> {
                  if (!has(entityId, first, created::equals)) {
                    throw unknown();
                  }
                },
                executor));
  }

  private boolean has(String entityId, List<StoredEntry> records, Predicate<ThreadEvent> event) {
    return records.stream()
        .flatMap(stored -> entry(entityId, stored).events().stream())
        .anyMatch(event);
  }

  // --- feeds -----------------------------------------------------------------------------------

  /** Refuses to wait for events after one that the thread never had. */
  CompletionStage<Void> reached(String entityId, long seq) {
    if (seq < 1) {
      return CompletableFuture.completedFuture(null);
    }
    return StoreErrors.translated(store.read(entityId, seq, 1))
        .thenAccept(
            entries -> {
              if (entries.isEmpty()) {
                throw new ThreadException(
                    HostError.UNKNOWN_EVENT,
                    "The thread has no events as far as %s; begin after one that it sent, or with after=now"
                        .formatted(seq));
              }
            });
  }

  /** Reads entries for a feed, when its turn comes. */
  @SuppressWarnings("FutureReturnValueIgnored") // the feed receives the failure
  void read(String entityId, long from, int max, ThreadFeed.Received received) {
    feeding.enqueue(
        () ->
            StoreErrors.translated(
                    store
                        .read(entityId, from, max)
                        .thenApplyAsync(records -> decoded(entityId, records), feedThreads))
                .whenComplete(
                    (read, thrown) ->
                        received.records(read, thrown == null ? null : RootCauses.of(thrown))));
  }

  /** The first entries, up to a size, and at least one. */
  private ThreadFeed.Read decoded(String entityId, List<StoredEntry> records) {
    List<Entry<ThreadEvent>> entries = new ArrayList<>(records.size());
    long bytes = 0;
    for (StoredEntry stored : records) {
      bytes += stored.payload().length;
      if (bytes > FED && !entries.isEmpty()) {
        break;
      }
      entries.add(entry(entityId, stored));
    }
    return new ThreadFeed.Read(entries, bytes > FED);
  }

  @SuppressWarnings("unchecked") // the entries of a thread
  private Entry<ThreadEvent> entry(String entityId, StoredEntry stored) {
    try {
      return (Entry<ThreadEvent>) encryption.read(entityId, stored);
    } catch (UnreadableEntry e) {
      LOG.error("Thread {} cannot be read: {}", entityId, e.getMessage());
      throw e;
    }
  }
}

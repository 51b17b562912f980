package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.RejectedException;
import io.fermata.persistence.spi.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.journal.japi.AsyncWriteJournal;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.concurrent.Future;
import scala.jdk.javaapi.FutureConverters;

/**
 * Pekko's journal plugin for every store. It chains the checksums of entries as it appends them,
 * and checks them as it replays them.
 *
 * <p>Pekko counts failures of looking for a journal's end, and after many of them refuses to look
 * for any. So damage that is found there is reported by the replay that follows, whose failures
 * concern one session.
 */
final class JournalPlugin extends AsyncWriteJournal {

  private static final Logger LOG = LoggerFactory.getLogger(JournalPlugin.class);

  /** How many entries of a journal that is replayed are in memory. */
  private static final int PAGE = 1_000;

  private final StoreSetup store = StoreSetup.of(context().system());
  private final StoreJournals journals = store.journals();
  private final ChainTips tips = store.tips();
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  @Override
  public Future<Iterable<Optional<Exception>>> doAsyncWriteMessages(Iterable<AtomicWrite> writes) {
    List<CompletableFuture<Optional<Exception>>> all = new ArrayList<>();
    writes.forEach(write -> all.add(write(write).toCompletableFuture()));
    CompletionStage<Iterable<Optional<Exception>>> results =
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
            .thenApply(done -> all.stream().map(CompletableFuture::join).toList());
    return FutureConverters.asScala(results);
  }

  /** A write that cannot be serialized is refused; the others proceed. */
  private CompletionStage<Optional<Exception>> write(AtomicWrite write) {
    List<SerializedEntry> records;
    try {
      records = SerializedEntry.all(write, serialization);
    } catch (Exception unserializable) {
      return CompletableFuture.completedFuture(Optional.of(unserializable));
    }
    String persistenceId = write.persistenceId();
    long first = records.get(0).sequenceNr();
    long incarnation = journals.incarnation();
    return tipBefore(persistenceId, first)
        .thenCompose(tip -> append(records, tip, incarnation))
        .handle(
            (done, failure) -> {
              if (failure == null) {
                store.unwritten().written(LOG);
                return Optional.empty();
              }
              tips.forget(persistenceId);
              Throwable cause = StoreFailures.of(failure);
              if (cause instanceof RejectedException rejected) {
                return Optional.of(rejected);
              }
              store.unwritten().log(LOG, persistenceId, cause);
              throw new CompletionException(cause);
            });
  }

  /** The end of a journal that the next entry follows, as it is known here or in the store. */
  private CompletionStage<JournalTip> tipBefore(String persistenceId, long first) {
    JournalTip known = tips.at(persistenceId, first - 1);
    return known != null
        ? CompletableFuture.completedFuture(known)
        : journals
            .tip(persistenceId)
            .thenApply(
                tip -> {
                  if (tip.seq() == first - 1) {
                    return tip;
                  }
                  throw new StoreException(
                      "Entry "
                          + first
                          + " of "
                          + persistenceId
                          + " does not follow entry "
                          + tip.seq()
                          + ", the last in the store: another process wrote this journal, or the"
                          + " store lost data. The session recovers from what is stored; retry");
                });
  }

  private CompletionStage<@Nullable Void> append(
      List<SerializedEntry> entries, JournalTip before, long incarnation) {
    List<SerializedEntry> chained = SerializedEntry.chained(entries, before);
    SerializedEntry last = chained.get(chained.size() - 1);
    tips.put(last.persistenceId(), last.tip());
    return journals.append(last.persistenceId(), chained, incarnation);
  }

  @Override
  public Future<@Nullable Void> doAsyncDeleteMessagesTo(String persistenceId, long toSequenceNr) {
    tips.forget(persistenceId);
    return FutureConverters.asScala(journals.deleteTo(persistenceId, toSequenceNr));
  }

  @Override
  public Future<@Nullable Void> doAsyncReplayMessages(
      String persistenceId, long from, long to, long max, Consumer<PersistentRepr> replay) {
    DamagedException damage = tips.damage(persistenceId);
    if (damage != null) {
      return FutureConverters.asScala(CompletableFuture.failedFuture(damage));
    }
    JournalTip snapshot = tips.snapshotAt(persistenceId, from - 1);
    if (snapshot != null) {
      tips.recovered(persistenceId);
    }
    return FutureConverters.asScala(
        new Replayed(persistenceId, from, to, snapshot, replay)
            .next(snapshot == null && from > 1 ? from - 1 : from, max));
  }

  /** A journal that is replayed page by page. */
  private final class Replayed {
    private final String persistenceId;
    private final long from;
    private final long to;
    private final @Nullable JournalTip snapshot;
    private final Consumer<PersistentRepr> replay;
    private ChainCheck check;

    Replayed(
        String persistenceId,
        long from,
        long to,
        @Nullable JournalTip snapshot,
        Consumer<PersistentRepr> replay) {
      this.persistenceId = persistenceId;
      this.from = from;
      this.to = to;
      this.snapshot = snapshot;
      this.replay = replay;
      this.check = ChainCheck.after(persistenceId, snapshot);
    }

    /**
     * Replays the rest.
     *
     * @param first the next entry, or the one before the first
     * @param left how many entries may be replayed
     */
    CompletionStage<@Nullable Void> next(long first, long left) {
      long most = Math.min(PAGE, first < from && left < PAGE ? left + 1 : left);
      return journals
          .read(persistenceId, first, to, most)
          .handle(
              (entries, failure) ->
                  failure == null ? entries : refused(persistenceId, snapshot, failure))
          .thenComposeAsync(
              entries -> {
                requireUnswept(entries);
                long replayed = entries.stream().filter(this::take).count();
                JournalTip last = check.last();
                long reached = last == null ? from - 1 : last.seq();
                if (reached >= to || replayed == left) {
                  return CompletableFuture.completedFuture(null);
                }
                return entries.size() < most
                    ? requireDeleted(persistenceId, reached, to, snapshot)
                    : next(reached + 1, left - replayed);
              },
              executor);
    }

    /** What a sweep leaves of a journal carries the checksum of the entry before it. */
    private void requireUnswept(List<SerializedEntry> page) {
      JournalTip last = check.last();
      if (last != null && last.seq() >= from && !page.isEmpty()) {
        SerializedEntry next = page.get(0);
        if (next.sequenceNr() > last.seq() + 1 && next.previous() != null) {
          throw new StoreException(
              "The journal " + persistenceId + " was swept while it was read; retry");
        }
      }
    }

    /** Whether the entry was replayed, and is not the one before the first. */
    private boolean take(SerializedEntry entry) {
      if (entry.sequenceNr() < from) {
        check = ChainCheck.after(persistenceId, entry.tip());
        return false;
      }
      check.accept(entry);
      replay.accept(entry.read(serialization));
      return true;
    }
  }

  /** Without its snapshot, a journal of a store that keeps no history is not complete. */
  private static List<SerializedEntry> refused(
      String persistenceId, @Nullable JournalTip snapshot, Throwable failure) {
    Throwable cause = StoreFailures.of(failure);
    if (snapshot != null && cause instanceof NoHistoryException) {
      throw DamagedException.ofJournal(
          persistenceId, "its snapshot was altered, and the entries before it are not kept");
    }
    throw new CompletionException(cause);
  }

  /** Entries that should be there are not: they were deleted meanwhile, or are missing. */
  private CompletionStage<@Nullable Void> requireDeleted(
      String persistenceId, long reached, long to, @Nullable JournalTip snapshot) {
    return journals
        .tip(persistenceId)
        .thenCombine(
            journals.snapshot(persistenceId, SnapshotSelectionCriteria.latest()),
            (tip, kept) -> {
              if (tip.deleted() && tip.seq() >= to) {
                return null;
              } else if (tip.seq() == 0 && kept.isEmpty()) {
                throw new StoreException(
                    "The journal " + persistenceId + " was deleted while it was read; retry");
              } else if (snapshot != null && tip.seq() == snapshot.seq()) {
                throw DamagedException.ofJournal(
                    persistenceId, "entry " + tip.seq() + " is not the one in the snapshot");
              }
              throw DamagedException.ofJournal(
                  persistenceId, "entry " + (Math.min(reached, tip.seq()) + 1) + " is missing");
            });
  }

  @Override
  public Future<Long> doAsyncReadHighestSequenceNr(String persistenceId, long from) {
    return FutureConverters.asScala(
        journals
            .tip(persistenceId)
            .handle(
                (tip, failure) ->
                    failure == null
                        ? highest(persistenceId, from, tip)
                        : unknown(persistenceId, from, failure)));
  }

  /** Of a damaged journal more than there is, so that a replay follows, which says so. */
  private long unknown(String persistenceId, long from, Throwable failure) {
    Throwable cause = StoreFailures.of(failure);
    if (cause instanceof DamagedException damage) {
      tips.damaged(persistenceId, damage);
      return from + 1;
    }
    throw new CompletionException(cause);
  }

  /** More than there is, if the entries do not fit their snapshot, so that a replay follows. */
  private long highest(String persistenceId, long from, JournalTip tip) {
    tips.put(persistenceId, tip);
    JournalTip snapshot = tips.snapshotAt(persistenceId, from);
    if (snapshot == null || tip.seq() > from) {
      return tip.seq();
    } else if (tip.seq() < from || tip.checksum() != snapshot.checksum()) {
      return from + 1;
    }
    tips.recovered(persistenceId);
    return tip.seq();
  }
}

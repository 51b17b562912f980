package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.DamagedException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.snapshot.japi.SnapshotStore;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.concurrent.Future;
import scala.jdk.javaapi.FutureConverters;

/** Pekko's snapshot plugin for every store. */
final class SnapshotPlugin extends SnapshotStore {

  private static final Logger LOG = LoggerFactory.getLogger(SnapshotPlugin.class);

  private final StoreSetup store = StoreSetup.of(context().system());
  private final StoreJournals journals = store.journals();
  private final ChainTips tips = store.tips();
  private final SnapshotUse use = SnapshotUse.of(context().system());
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  @Override
  public Future<Optional<SelectedSnapshot>> doLoadAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return FutureConverters.asScala(
        journals
            .snapshot(persistenceId, criteria)
            .handle(
                (found, failure) ->
                    failure == null
                        ? intact(persistenceId, found)
                        : unreadable(persistenceId, failure))
            .thenComposeAsync(
                found ->
                    found.isPresent()
                        ? used(persistenceId, found.get())
                        : CompletableFuture.completedFuture(Optional.empty()),
                executor));
  }

  private CompletionStage<Optional<SelectedSnapshot>> used(
      String persistenceId, SerializedSnapshot found) {
    Optional<SelectedSnapshot> read = Optional.of(found.read(serialization));
    if (use.isUsable(persistenceId, read.get().snapshot())) {
      return CompletableFuture.completedFuture(read);
    }
    return journals
        .read(persistenceId, 1, Long.MAX_VALUE, 1)
        .handle(
            (first, failure) -> {
              if (failure != null || !begins(persistenceId, first)) {
                return read;
              }
              withoutSnapshot(persistenceId, "cannot be read without a key that this host lacks");
              return Optional.empty();
            });
  }

  /** Whether a journal begins with this entry; what a snapshot has replaced may be deleted. */
  private static boolean begins(String persistenceId, List<SerializedEntry> first) {
    try {
      ChainCheck check = ChainCheck.after(persistenceId, null);
      first.forEach(check::accept);
      return !first.isEmpty();
    } catch (DamagedException e) {
      return false;
    }
  }

  private Optional<SerializedSnapshot> unreadable(String persistenceId, Throwable failure) {
    Throwable cause = StoreFailures.of(failure);
    if (cause instanceof DamagedException) {
      return withoutSnapshot(persistenceId, "is damaged");
    }
    throw new CompletionException(cause);
  }

  /** A snapshot is left aside: the entries alone suffice, or say what is missing. */
  private Optional<SerializedSnapshot> withoutSnapshot(String persistenceId, String why) {
    LOG.warn("The snapshot of {} {}; recovering from the entries alone", persistenceId, why);
    tips.recovers(persistenceId, JournalTip.NONE);
    return Optional.empty();
  }

  private Optional<SerializedSnapshot> intact(
      String persistenceId, Optional<SerializedSnapshot> found) {
    if (found.isPresent() && !found.get().isIntact()) {
      return withoutSnapshot(persistenceId, "is damaged");
    }
    found.ifPresentOrElse(
        snapshot -> tips.recovers(persistenceId, snapshot.tip()),
        () -> tips.recovered(persistenceId));
    return found;
  }

  @Override
  public Future<@Nullable Void> doSaveAsync(SnapshotMetadata metadata, Object snapshot) {
    SerializedSnapshot taken;
    try {
      taken = SerializedSnapshot.of(metadata, snapshot, serialization);
    } catch (Exception unserializable) {
      return FutureConverters.asScala(CompletableFuture.failedFuture(unserializable));
    }
    return FutureConverters.asScala(
        tipOf(metadata.persistenceId(), metadata.sequenceNr())
            .thenCompose(
                tip ->
                    tip.isPresent()
                        ? journals.save(taken.after(tip.get()))
                        : CompletableFuture.completedFuture(null)));
  }

  /** The entry with this number, empty if it was swept meanwhile. */
  private CompletionStage<Optional<JournalTip>> tipOf(String persistenceId, long seq) {
    JournalTip known = tips.at(persistenceId, seq);
    return known != null
        ? CompletableFuture.completedFuture(Optional.of(known))
        : journals
            .read(persistenceId, seq, seq, 1)
            .thenApply(entries -> entries.stream().map(SerializedEntry::tip).findFirst());
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(SnapshotMetadata metadata) {
    long seq = metadata.sequenceNr();
    return doDeleteAsync(
        metadata.persistenceId(), SnapshotSelectionCriteria.create(seq, Long.MAX_VALUE, seq, 0));
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return FutureConverters.asScala(journals.deleteSnapshots(persistenceId, criteria));
  }
}

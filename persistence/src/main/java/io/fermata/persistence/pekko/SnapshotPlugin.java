package io.fermata.persistence.pekko;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.snapshot.japi.SnapshotStore;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import scala.concurrent.Future;
import scala.jdk.javaapi.FutureConverters;

/** Pekko's snapshot plugin for every store. */
final class SnapshotPlugin extends SnapshotStore {

  private final StoreJournals journals = StoreSetup.journals(context().system());
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  @Override
  public Future<Optional<SelectedSnapshot>> doLoadAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return FutureConverters.asScala(
        journals
            .snapshot(persistenceId, criteria)
            .thenApplyAsync(
                found -> found.map(snapshot -> snapshot.read(serialization)), executor));
  }

  @Override
  public Future<@Nullable Void> doSaveAsync(SnapshotMetadata metadata, Object snapshot) {
    SerializedSnapshot taken;
    try {
      taken = SerializedSnapshot.of(metadata, snapshot, serialization);
    } catch (Exception unserializable) {
      return FutureConverters.asScala(CompletableFuture.failedFuture(unserializable));
    }
    return FutureConverters.asScala(journals.save(taken));
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

package io.fermata.persistence;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;
import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.snapshot.japi.SnapshotStore;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import scala.concurrent.Future;
import scala.jdk.javaapi.FutureConverters;

/** The snapshot plugin of a key-value store. */
final class KvSnapshotPlugin extends SnapshotStore {

  private final KvJournals journals = StoreSetups.of(context().system(), KvSetup.class).journals();
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  /** A session that wakes begins with this, so the journal is read here as it is in the store. */
  @Override
  public Future<Optional<SelectedSnapshot>> doLoadAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    CompletionStage<Optional<SelectedSnapshot>> loaded =
        journals
            .read(persistenceId)
            .thenApplyAsync(
                document ->
                    document
                        .snapshot(snapshot -> criteria.matches(snapshot.key()))
                        .map(snapshot -> snapshot.read(serialization)),
                executor);
    return FutureConverters.asScala(loaded);
  }

  @Override
  public Future<@Nullable Void> doSaveAsync(SnapshotMetadata metadata, Object snapshot) {
    SerializedSnapshot taken;
    try {
      taken = SerializedSnapshot.of(metadata, snapshot, serialization);
    } catch (Exception unserializable) {
      return FutureConverters.asScala(CompletableFuture.failedFuture(unserializable));
    }
    return change(metadata.persistenceId(), document -> document.save(taken));
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(SnapshotMetadata metadata) {
    return change(
        metadata.persistenceId(),
        document ->
            document.deleteSnapshots(snapshot -> snapshot.sequenceNr() == metadata.sequenceNr()));
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return change(
        persistenceId,
        document -> document.deleteSnapshots(snapshot -> criteria.matches(snapshot.key())));
  }

  private Future<@Nullable Void> change(String persistenceId, UnaryOperator<KvDocument> change) {
    return FutureConverters.asScala(
        journals.change(persistenceId, change).thenAcceptAsync(document -> {}, executor));
  }
}

package io.fermata.persistence;

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

/** The snapshot plugin of a relational database. */
final class SqlSnapshotPlugin extends SnapshotStore {

  private final SqlJournals journals =
      StoreSetups.of(context().system(), SqlSetup.class).journals();
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  @Override
  public Future<Optional<SelectedSnapshot>> doLoadAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return FutureConverters.asScala(
        journals
            .snapshot(SnapshotRange.of(persistenceId, criteria))
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
    return done(journals.save(taken));
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(SnapshotMetadata metadata) {
    return done(
        journals.deleteSnapshots(
            SnapshotRange.of(metadata.persistenceId(), metadata.sequenceNr())));
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return done(journals.deleteSnapshots(SnapshotRange.of(persistenceId, criteria)));
  }

  private static Future<@Nullable Void> done(CompletableFuture<Integer> change) {
    return FutureConverters.asScala(change.thenAccept(rows -> {}));
  }
}

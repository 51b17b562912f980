package io.fermata.persistence;

import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.pekko.dispatch.Futures;
import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.snapshot.japi.SnapshotStore;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import scala.concurrent.Future;

/** The snapshot plugin of a memory store. */
final class MemorySnapshotPlugin extends SnapshotStore {

  private final MemoryJournals journals =
      StoreSetups.of(context().system(), MemorySetup.class).journals();
  private final Serialization serialization = SerializationExtension.get(context().system());

  @Override
  public Future<Optional<SelectedSnapshot>> doLoadAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return result(
        () ->
            journals
                .of(persistenceId)
                .newestSnapshot(snapshot -> criteria.matches(snapshot.key()))
                .map(snapshot -> snapshot.read(serialization)));
  }

  @Override
  public Future<@Nullable Void> doSaveAsync(SnapshotMetadata metadata, Object snapshot) {
    return result(
        () -> {
          journals
              .of(metadata.persistenceId())
              .save(SerializedSnapshot.of(metadata, snapshot, serialization));
          return null;
        });
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(SnapshotMetadata metadata) {
    return result(
        () -> {
          journals
              .of(metadata.persistenceId())
              .deleteSnapshots(snapshot -> snapshot.sequenceNr() == metadata.sequenceNr());
          return null;
        });
  }

  @Override
  public Future<@Nullable Void> doDeleteAsync(
      String persistenceId, SnapshotSelectionCriteria criteria) {
    return result(
        () -> {
          journals.of(persistenceId).deleteSnapshots(snapshot -> criteria.matches(snapshot.key()));
          return null;
        });
  }

  private static <T extends @Nullable Object> Future<T> result(Callable<T> work) {
    try {
      return Futures.successful(work.call());
    } catch (Exception failure) {
      return Futures.failed(failure);
    }
  }
}

package io.fermata.persistence.pekko;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * What Pekko's plugins ask of a store: the journals and snapshots of sessions, serialized. What is
 * asked for one journal is done in that order.
 */
public interface StoreJournals {

  /** Appends the records of one write, all of them or none. */
  CompletionStage<@Nullable Void> append(String persistenceId, List<SerializedEntry> write);

  /** Deletes records; the number of the newest one is not given again. */
  CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to);

  CompletionStage<List<SerializedEntry>> read(String persistenceId, long from, long to, long max);

  /** The number of the newest record, counting what is still being written. */
  CompletionStage<Long> highest(String persistenceId);

  /** The newest snapshot that is wanted. */
  CompletionStage<Optional<SerializedSnapshot>> snapshot(
      String persistenceId, SnapshotSelectionCriteria wanted);

  CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot);

  CompletionStage<@Nullable Void> deleteSnapshots(
      String persistenceId, SnapshotSelectionCriteria unwanted);
}

package io.fermata.persistence.pekko;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * What Pekko's plugins need of a store: the serialized journals and snapshots of sessions. Requests
 * for one journal are served in order.
 */
public interface StoreJournals {

  /** Changes when the store was restarted or replaced, and may have lost what was known of it. */
  default long incarnation() {
    return 0;
  }

  /**
   * Appends the records of one write, which follow the tip; all of them or none.
   *
   * @param incarnation in which the tip was known; in a later one nothing is written
   */
  CompletionStage<@Nullable Void> append(
      String persistenceId, List<SerializedEntry> write, long incarnation);

  /** Deletes records; the sequence number of the newest one is not reused. */
  CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to);

  CompletionStage<List<SerializedEntry>> read(String persistenceId, long from, long to, long max);

  /** The newest entry, after those still being written. */
  CompletionStage<JournalTip> tip(String persistenceId);

  /** The newest snapshot that matches. */
  CompletionStage<Optional<SerializedSnapshot>> snapshot(
      String persistenceId, SnapshotSelectionCriteria wanted);

  CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot);

  CompletionStage<@Nullable Void> deleteSnapshots(
      String persistenceId, SnapshotSelectionCriteria unwanted);
}

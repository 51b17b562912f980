package io.fermata.persistence.pekko;

import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.serialization.Serialization;

/**
 * One snapshot as a store keeps it.
 *
 * @param last the checksum of its last entry, which that of the entry after it includes
 * @param checksum over all of the snapshot
 */
public record SerializedSnapshot(
    String persistenceId,
    long sequenceNr,
    long timestamp,
    Serialized state,
    int last,
    int checksum) {

  /** A snapshot that does not know its last entry yet. */
  static SerializedSnapshot of(SnapshotMetadata key, Object state, Serialization serialization) {
    Serialized.requireNothingElse(key.persistenceId(), "", key.metadata());
    return new SerializedSnapshot(
        key.persistenceId(),
        key.sequenceNr(),
        key.timestamp(),
        Serialized.of(state, serialization),
        0,
        0);
  }

  SerializedSnapshot after(JournalTip tip) {
    SerializedSnapshot after = with(tip.checksum(), 0);
    return with(tip.checksum(), after.sum());
  }

  private SerializedSnapshot with(int newLast, int newChecksum) {
    return new SerializedSnapshot(
        persistenceId, sequenceNr, timestamp, state, newLast, newChecksum);
  }

  private int sum() {
    return new Checksum()
        .add(last)
        .add(persistenceId)
        .add(sequenceNr)
        .add(timestamp)
        .add(state)
        .value();
  }

  /** Whether it is what was written. */
  public boolean isIntact() {
    return sum() == checksum;
  }

  /** The last entry that the snapshot includes. */
  JournalTip tip() {
    return new JournalTip(sequenceNr, last);
  }

  public SelectedSnapshot read(Serialization serialization) {
    return SelectedSnapshot.create(key(), state.read(serialization));
  }

  /** What criteria select it by. */
  public SnapshotMetadata key() {
    return new SnapshotMetadata(persistenceId, sequenceNr, timestamp);
  }
}

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
public record SerializedSnapshot(SnapshotMetadata key, Serialized state, int last, int checksum) {

  /** A snapshot that does not know its last entry yet. */
  static SerializedSnapshot of(SnapshotMetadata key, Object state, Serialization serialization) {
    Serialized.requireNothingElse(key.persistenceId(), "", key.metadata());
    return new SerializedSnapshot(
        new SnapshotMetadata(key.persistenceId(), key.sequenceNr(), key.timestamp()),
        Serialized.of(state, serialization),
        0,
        0);
  }

  SerializedSnapshot after(JournalTip tip) {
    SerializedSnapshot after = new SerializedSnapshot(key, state, tip.checksum(), 0);
    return new SerializedSnapshot(key, state, tip.checksum(), after.sum());
  }

  private int sum() {
    return new Checksum()
        .add(last)
        .add(key.persistenceId())
        .add(key.sequenceNr())
        .add(key.timestamp())
        .add(state)
        .value();
  }

  /** Whether it is what was written. */
  public boolean isIntact() {
    return sum() == checksum;
  }

  /** The last entry that the snapshot includes. */
  JournalTip tip() {
    return new JournalTip(sequenceNr(), last);
  }

  public SelectedSnapshot read(Serialization serialization) {
    return SelectedSnapshot.create(key, state.read(serialization));
  }

  public long sequenceNr() {
    return key.sequenceNr();
  }
}

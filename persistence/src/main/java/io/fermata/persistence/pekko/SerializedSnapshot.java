package io.fermata.persistence.pekko;

import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.serialization.Serialization;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.OptionConverters;

/**
 * One snapshot as a store keeps it.
 *
 * @param last the checksum of its last entry, which that of the entry after it includes
 * @param checksum over all of the snapshot
 */
public record SerializedSnapshot(
    SnapshotMetadata key, Serialized state, @Nullable Serialized metadata, int last, int checksum) {

  /** A snapshot that does not know its last entry yet. */
  static SerializedSnapshot of(SnapshotMetadata key, Object state, Serialization serialization) {
    return new SerializedSnapshot(
        new SnapshotMetadata(key.persistenceId(), key.sequenceNr(), key.timestamp()),
        Serialized.of(state, serialization),
        OptionConverters.toJava(key.metadata())
            .map(metadata -> Serialized.of(metadata, serialization))
            .orElse(null),
        0,
        0);
  }

  SerializedSnapshot after(JournalTip tip) {
    SerializedSnapshot after = new SerializedSnapshot(key, state, metadata, tip.checksum(), 0);
    return new SerializedSnapshot(key, state, metadata, tip.checksum(), after.sum());
  }

  private int sum() {
    return new Checksum()
        .add(last)
        .add(key.persistenceId())
        .add(key.sequenceNr())
        .add(key.timestamp())
        .add(state)
        .add(metadata)
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
    SnapshotMetadata full = metadata == null ? key : key.withMetadata(metadata.read(serialization));
    return SelectedSnapshot.create(full, state.read(serialization));
  }

  public long sequenceNr() {
    return key.sequenceNr();
  }
}

package io.fermata.persistence.pekko;

import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.serialization.Serialization;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.OptionConverters;

/** One snapshot as a store keeps it. */
public record SerializedSnapshot(
    SnapshotMetadata key, Serialized state, @Nullable Serialized metadata) {

  public static SerializedSnapshot of(
      SnapshotMetadata key, Object state, Serialization serialization) {
    return new SerializedSnapshot(
        new SnapshotMetadata(key.persistenceId(), key.sequenceNr(), key.timestamp()),
        Serialized.of(state, serialization),
        OptionConverters.toJava(key.metadata())
            .map(metadata -> Serialized.of(metadata, serialization))
            .orElse(null));
  }

  public SelectedSnapshot read(Serialization serialization) {
    SnapshotMetadata full = metadata == null ? key : key.withMetadata(metadata.read(serialization));
    return SelectedSnapshot.create(full, state.read(serialization));
  }

  public long sequenceNr() {
    return key.sequenceNr();
  }
}

package io.fermata.persistence.pekko;

import org.apache.pekko.persistence.SnapshotSelectionCriteria;

/** Which snapshots of one journal are meant; both ends of either range belong to it. */
public record SnapshotRange(
    String persistenceId, long fromSeq, long toSeq, long fromTime, long toTime) {

  public static SnapshotRange of(String persistenceId, SnapshotSelectionCriteria criteria) {
    return new SnapshotRange(
        persistenceId,
        criteria.minSequenceNr(),
        criteria.maxSequenceNr(),
        criteria.minTimestamp(),
        criteria.maxTimestamp());
  }
}

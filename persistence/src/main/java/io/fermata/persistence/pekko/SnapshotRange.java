package io.fermata.persistence.pekko;

import org.apache.pekko.persistence.SnapshotSelectionCriteria;

/** A selection of the snapshots of one journal; both ranges are inclusive. */
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

package io.fermata.session.admin;

import io.fermata.persistence.spi.Deleted;

/**
 * What an erasure removed. When it is reported the store has been asked again and has nothing left
 * of what was to be erased.
 *
 * @param journals of how many sessions and threads there was anything
 * @param records the events, by records of the journals
 * @param snapshots of any of them
 * @param entries in the directory
 * @param untold what recorders had still to be told, by records of the journals
 */
public record Erased(int journals, int records, int snapshots, int entries, int untold) {

  public static Erased of(Deleted forgotten, int untold) {
    return new Erased(
        forgotten.journals(),
        forgotten.records(),
        forgotten.snapshots(),
        forgotten.entries(),
        untold);
  }

  /** Whether there was nothing to erase. */
  public boolean nothing() {
    return journals == 0 && untold == 0;
  }
}

package io.fermata.session.admin;

import io.fermata.persistence.spi.Deleted;

/**
 * The counts of an erasure. It is reported after a second query of the store found nothing left.
 *
 * @param journals sessions and threads of which anything was erased
 * @param records journal entries
 * @param snapshots their snapshots
 * @param entries entries of the directory
 * @param undelivered journal entries that recorders had not received yet
 */
public record Erased(int journals, int records, int snapshots, int entries, int undelivered) {

  public static Erased of(Deleted forgotten, int undelivered) {
    return new Erased(
        forgotten.journals(),
        forgotten.records(),
        forgotten.snapshots(),
        forgotten.entries(),
        undelivered);
  }

  /** Whether there was nothing to erase. */
  public boolean nothing() {
    return journals == 0 && undelivered == 0;
  }
}

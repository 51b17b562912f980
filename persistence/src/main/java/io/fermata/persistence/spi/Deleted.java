package io.fermata.persistence.spi;

/**
 * The counts of a deletion.
 *
 * @param journals journals of which anything was deleted
 * @param records journal records, each with its tags
 * @param snapshots snapshots of any age
 * @param entries entries of the directory
 */
public record Deleted(int journals, int records, int snapshots, int entries) {

  public static final Deleted NOTHING = new Deleted(0, 0, 0, 0);

  /** The counts of one journal. */
  public static Deleted of(int records, int snapshots, int entries) {
    int journals = records + snapshots + entries == 0 ? 0 : 1;
    return new Deleted(journals, records, snapshots, entries);
  }

  public Deleted and(Deleted more) {
    return new Deleted(
        journals + more.journals,
        records + more.records,
        snapshots + more.snapshots,
        entries + more.entries);
  }

  /** Counts a journal once of which something was deleted several times. */
  public Deleted ofAtMost(int different) {
    return new Deleted(Math.min(journals, different), records, snapshots, entries);
  }
}

package io.fermata.persistence.spi;

/**
 * How much was deleted for good.
 *
 * @param journals of how many journals there was anything
 * @param records events, each with its tags
 * @param snapshots of whatever age
 * @param entries in the directory
 */
public record Deleted(int journals, int records, int snapshots, int entries) {

  public static final Deleted NOTHING = new Deleted(0, 0, 0, 0);

  /** What there was of one journal. */
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
}

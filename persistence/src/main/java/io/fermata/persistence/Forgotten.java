package io.fermata.persistence;

/**
 * How much was deleted for good.
 *
 * @param journals of how many journals there was anything
 * @param records events, each with its tags
 * @param snapshots of whatever age
 * @param entries in the directory
 */
public record Forgotten(int journals, int records, int snapshots, int entries) {

  public static final Forgotten NOTHING = new Forgotten(0, 0, 0, 0);

  /** What there was of one journal. */
  public static Forgotten of(int records, int snapshots, int entries) {
    int journals = records + snapshots + entries == 0 ? 0 : 1;
    return new Forgotten(journals, records, snapshots, entries);
  }

  public Forgotten and(Forgotten more) {
    return new Forgotten(
        journals + more.journals,
        records + more.records,
        snapshots + more.snapshots,
        entries + more.entries);
  }
}

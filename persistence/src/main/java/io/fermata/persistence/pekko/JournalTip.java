package io.fermata.persistence.pekko;

/**
 * The end of a journal, which the checksum of its next entry includes.
 *
 * @param seq the sequence number of the newest entry, 0 for none
 * @param checksum its checksum
 * @param deleted whether that entry is kept for its number alone, so that the next one begins the
 *     journal
 */
public record JournalTip(long seq, int checksum, boolean deleted) {

  /** The end of a journal without entries. */
  public static final JournalTip NONE = new JournalTip(0, 0, false);

  public JournalTip(long seq, int checksum) {
    this(seq, checksum, false);
  }
}

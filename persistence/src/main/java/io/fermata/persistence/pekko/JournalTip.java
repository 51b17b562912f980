package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.DamagedException;

/**
 * The end of a journal, which the checksum of its next entry includes.
 *
 * @param seq the sequence number of the newest entry, 0 for none
 * @param checksum its checksum
 * @param deleted whether that entry is kept for its number alone, so that the next one begins the
 *     journal
 * @param expires whether that entry may be deleted as well, as a sweep forgets what has ended; the
 *     next one may be on its way then, and is the first of the journal
 * @param listed the highest sequence number that the directory has seen, 0 if it is not known
 */
public record JournalTip(long seq, int checksum, boolean deleted, boolean expires, long listed) {

  /** The end of a journal without entries. */
  public static final JournalTip NONE = new JournalTip(0, 0);

  public JournalTip(long seq, int checksum) {
    this(seq, checksum, false, false, 0);
  }

  /** An entry that is kept for its number alone. */
  public JournalTip withoutContent() {
    return new JournalTip(seq, checksum, true, expires, listed);
  }

  /** Refuses a journal that ends before the entry that the directory has seen. */
  public JournalTip requireListed(String persistenceId) {
    if (listed > seq) {
      throw DamagedException.ofJournal(persistenceId, "entry " + (seq + 1) + " is missing");
    }
    return this;
  }
}

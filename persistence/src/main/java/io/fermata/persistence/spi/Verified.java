package io.fermata.persistence.spi;

import java.util.List;

/**
 * What a verification of a whole store found.
 *
 * @param journals the journals that were read
 * @param entries their entries
 * @param damages what is damaged
 * @param unread what could not be read and why, as sentences; empty if the whole store was
 */
public record Verified(long journals, long entries, long damages, List<String> unread) {

  public Verified {
    unread = List.copyOf(unread);
  }

  /** Of a store that was read as a whole. */
  public Verified(long journals, long entries, long damages) {
    this(journals, entries, damages, List.of());
  }

  /** Whether nothing that was read is damaged. */
  public boolean intact() {
    return damages == 0;
  }
}

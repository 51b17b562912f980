package io.fermata.persistence.spi;

/**
 * What a verification of a whole store found.
 *
 * @param journals the journals that were read
 * @param entries their entries
 * @param damages what is damaged
 */
public record Verified(long journals, long entries, long damages) {

  public boolean intact() {
    return damages == 0;
  }
}

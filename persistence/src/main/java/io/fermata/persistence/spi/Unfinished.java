package io.fermata.persistence.spi;

/**
 * A journal with unfinished work.
 *
 * @param cursor its place in the list; the next page begins after it
 */
public record Unfinished(String cursor, String persistenceId) {}

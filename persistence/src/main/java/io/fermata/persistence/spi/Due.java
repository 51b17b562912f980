package io.fermata.persistence.spi;

/**
 * A journal whose session is due.
 *
 * @param at when, in milliseconds since 1970
 */
public record Due(String persistenceId, long at) {}

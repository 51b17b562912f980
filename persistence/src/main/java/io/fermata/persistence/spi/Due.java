package io.fermata.persistence.spi;

/**
 * A journal that wants to be looked at again.
 *
 * @param at when, in milliseconds since 1970
 */
public record Due(String persistenceId, long at) {}

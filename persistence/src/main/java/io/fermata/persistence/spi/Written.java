package io.fermata.persistence.spi;

/**
 * A journal that was written.
 *
 * @param number the number of a record among those of all journals of the store, in ascending order
 */
public record Written(long number, String persistenceId) {}

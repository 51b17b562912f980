package io.fermata.persistence.spi;

/**
 * A journal that was written to.
 *
 * @param number of a record among those of all journals of its store; later ones have higher ones
 */
public record Written(long number, String persistenceId) {}

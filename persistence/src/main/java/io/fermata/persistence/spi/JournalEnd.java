package io.fermata.persistence.spi;

/**
 * The record that ends a run, and before which nothing of its journal is wanted any more.
 *
 * @param eventId where the table of tags knows it by
 * @param tag the tag that says so
 */
public record JournalEnd(String persistenceId, long seq, long eventId, String tag) {}

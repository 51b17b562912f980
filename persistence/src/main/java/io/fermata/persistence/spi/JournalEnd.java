package io.fermata.persistence.spi;

/**
 * The record that ends a run; everything before it can be deleted.
 *
 * @param eventId its id in the table of tags
 * @param tag the tag that marks it
 */
public record JournalEnd(String persistenceId, long seq, long eventId, String tag) {}

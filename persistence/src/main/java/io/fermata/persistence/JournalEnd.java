package io.fermata.persistence;

/**
 * The record that ends a run, and before which nothing of its journal is wanted any more.
 *
 * @param eventId where the table of tags knows it by
 * @param tag the tag that says so
 */
record JournalEnd(String persistenceId, long seq, long eventId, String tag) {}

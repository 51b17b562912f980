package io.fermata.persistence.sql;

/**
 * An end that is kept for longer than one that follows it; the journal is kept from there until
 * then.
 *
 * @param until the tag with the time
 */
public record SqlPromise(String persistenceId, long seq, String until) {}

package io.fermata.persistence.keyvalue;

/**
 * Says in the index that somebody has to look at a journal.
 *
 * @param at when at the earliest: a time, or {@link KvDocument#WORKING}
 * @param host who says so
 * @param since when it was said, in milliseconds since 1970
 */
record KvMark(long at, String host, long since) {}

package io.fermata.persistence.keyvalue;

/**
 * A mark in the index: a journal needs attention.
 *
 * @param at the earliest time, or {@link KvDocument#WORKING}
 * @param host the host that wrote it
 * @param since when it was written, in milliseconds since 1970
 */
record KvMark(long at, String host, long since) {}

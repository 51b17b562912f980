/**
 * Where journals live.
 *
 * <p>A {@link io.fermata.persistence.Store} names a place, an {@link
 * io.fermata.persistence.OpenStore} is that place opened by one host: it configures the journal and
 * the snapshot store of an actor system and looks after the records in them. It reads slices of a
 * journal without waking anybody, forgets journals for good, adopts those of other stores, and
 * keeps a {@link io.fermata.persistence.Directory} of what the journals are about, as they
 * themselves say, so that they can be listed, and up to which record that has followed them. This
 * room may use Pekko persistence, JDBC, SQLite, PostgreSQL and Redis. It knows no flow: to it an
 * event is bytes with a sequence number and tags.
 *
 * <p>A SQLite file has one connection that writes, on one thread, and a few that only read. What
 * writes waits its turn there; what only reads waits for nobody and holds nobody up.
 *
 * <p>A {@link io.fermata.persistence.KvStore} keeps each session in one value, written by
 * compare-and-set. It has no history and cannot be searched; what asks for that is refused by a
 * {@link io.fermata.persistence.NoHistoryException}.
 */
@NullMarked
package io.fermata.persistence;

import org.jspecify.annotations.NullMarked;

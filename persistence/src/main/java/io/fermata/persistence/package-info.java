/**
 * Where journals live.
 *
 * <p>A {@link io.fermata.persistence.Store} names a place; an {@link
 * io.fermata.persistence.OpenStore} is that place opened by one host. It configures the journal and
 * snapshot plugins of an actor system and maintains the journals: it reads slices of them without
 * starting their actors, deletes them, imports those of other stores, and keeps a {@link
 * io.fermata.persistence.Directory} by which they can be listed. To a store an event is bytes with
 * a sequence number and tags; this module knows no flow.
 *
 * <p>A SQLite file has one connection that writes, on one thread, and a few that only read. Writes
 * queue for the first; reads neither wait for writes nor delay them.
 *
 * <p>Other artifacts add stores by a {@link io.fermata.persistence.StoreProvider}. A store without
 * history answers what needs history with a {@link io.fermata.persistence.NoHistoryException}.
 */
@NullMarked
package io.fermata.persistence;

import org.jspecify.annotations.NullMarked;

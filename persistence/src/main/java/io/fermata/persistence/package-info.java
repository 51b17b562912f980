/**
 * Where journals live.
 *
 * <p>A {@link io.fermata.persistence.Store} names a place, an {@link
 * io.fermata.persistence.OpenStore} is that place opened by one host: it configures the journal and
 * the snapshot store of an actor system and looks after the records in them. This room may use
 * Pekko persistence, JDBC and SQLite. It knows no flow: to it an event is bytes with a sequence
 * number and tags.
 */
@NullMarked
package io.fermata.persistence;

import org.jspecify.annotations.NullMarked;

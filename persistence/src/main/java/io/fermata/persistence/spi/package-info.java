/**
 * The interface between a store and a host, and the extension point for stores of other artifacts.
 * To a store an event is bytes with a sequence number and tags. Hosts that share a store agree in
 * its {@link io.fermata.persistence.spi.SharedStore} on who writes which sessions.
 */
@NullMarked
package io.fermata.persistence.spi;

import org.jspecify.annotations.NullMarked;

/**
 * The interface between a store and a host, and the extension point for stores of other artifacts.
 * To a store an event is bytes with a sequence number and tags.
 */
@NullMarked
package io.fermata.persistence.spi;

import org.jspecify.annotations.NullMarked;

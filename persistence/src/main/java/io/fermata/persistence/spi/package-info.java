/**
 * What every store offers a host, and how other artifacts bring stores of their own. To a store an
 * event is bytes with a sequence number and tags.
 */
@NullMarked
package io.fermata.persistence.spi;

import org.jspecify.annotations.NullMarked;

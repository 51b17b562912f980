/**
 * The journal and snapshot plugins that Pekko Persistence loads, and the serialization of their
 * entries. They use the interface of a store, no particular store.
 */
@NullMarked
package io.fermata.persistence.pekko;

import org.jspecify.annotations.NullMarked;

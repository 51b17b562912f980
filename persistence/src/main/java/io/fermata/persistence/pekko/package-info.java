/**
 * The journal and snapshot plugins that Pekko Persistence loads, and how entries are serialized for
 * them. Uses the store's interface, no particular store.
 */
@NullMarked
package io.fermata.persistence.pekko;

import org.jspecify.annotations.NullMarked;

/**
 * Several hosts on one store: discovery, the shards of each host, and the calls between them. It
 * uses the store's {@link io.fermata.persistence.spi.SharedStore} as meeting point and referee, and
 * Pekko Cluster Sharding to place shards.
 */
@NullMarked
package io.fermata.session.cluster;

import org.jspecify.annotations.NullMarked;

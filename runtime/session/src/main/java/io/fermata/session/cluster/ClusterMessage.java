package io.fermata.session.cluster;

/** A message between hosts, which {@link ClusterSerializer} writes. */
interface ClusterMessage {}

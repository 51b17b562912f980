/** The harnesses of clusters: hosts in processes of their own, on one PostgreSQL database. */
@NullMarked
package io.fermata.bench.cluster;

import org.jspecify.annotations.NullMarked;

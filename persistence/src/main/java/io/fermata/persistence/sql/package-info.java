/**
 * What the stores in databases share: batches, entries, snapshots, the directory and upkeep in SQL,
 * over a dialect that each database supplies.
 */
@NullMarked
package io.fermata.persistence.sql;

import org.jspecify.annotations.NullMarked;

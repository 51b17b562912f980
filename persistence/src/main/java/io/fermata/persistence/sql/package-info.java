/**
 * The code that SQL stores share: batches, entries, snapshots, directory and upkeep, over the
 * dialect of each database.
 */
@NullMarked
package io.fermata.persistence.sql;

import org.jspecify.annotations.NullMarked;

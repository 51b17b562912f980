/**
 * The directory of sessions: entries, labels, queries and pages. It knows no store and no journal.
 */
@NullMarked
package io.fermata.persistence.directory;

import org.jspecify.annotations.NullMarked;

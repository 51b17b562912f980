/**
 * What is listed of sessions: entries, their labels, queries and pages. Knows no store and no
 * journal.
 */
@NullMarked
package io.fermata.persistence.directory;

import org.jspecify.annotations.NullMarked;

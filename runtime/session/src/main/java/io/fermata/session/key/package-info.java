/**
 * The names of sessions and what everything above shares: errors, labels of logs, threads. Knows no
 * actor and no journal.
 */
@NullMarked
package io.fermata.session.key;

import org.jspecify.annotations.NullMarked;

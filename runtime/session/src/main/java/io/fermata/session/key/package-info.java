/**
 * Names of sessions, errors, log labels and threads, shared by all packages above. Knows no actor
 * and no journal.
 */
@NullMarked
package io.fermata.session.key;

import org.jspecify.annotations.NullMarked;

/**
 * Recorders that are ready to use: an account for people, counts, the causes of a value, and the
 * redaction of what a recorder must not see.
 *
 * <p>This room is part of the flow's: it knows no actor, no thread, no clock and no I/O.
 */
@NullMarked
package io.fermata.flow.record;

import org.jspecify.annotations.NullMarked;

/** The directory of sessions, projected from the journals. */
@NullMarked
package io.fermata.session.runs;

import org.jspecify.annotations.NullMarked;

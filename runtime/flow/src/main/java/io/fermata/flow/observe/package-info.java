/** Recorders and what they receive: the events of a journal, and what is derived from them. */
@NullMarked
package io.fermata.flow.observe;

import org.jspecify.annotations.NullMarked;

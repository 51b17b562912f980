/** Recorders and what they get: the events of a journal, and what these come to. */
@NullMarked
package io.fermata.flow.observe;

import org.jspecify.annotations.NullMarked;

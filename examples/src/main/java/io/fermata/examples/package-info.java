/** The entry point of the examples, and a rehearsal for the archive of their classes. */
@NullMarked
package io.fermata.examples;

import org.jspecify.annotations.NullMarked;

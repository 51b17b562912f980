/** The harnesses that measure Fermata and break it, run by hand. */
@NullMarked
package io.fermata.bench;

import org.jspecify.annotations.NullMarked;

/** Recorders and what they are given: observations, derived from a run's events. */
@NullMarked
package io.fermata.flow.observe;

import org.jspecify.annotations.NullMarked;

/**
 * The state of a run, the events that change it, its inputs, outcomes and effects. Folding them
 * needs no flow.
 */
@NullMarked
package io.fermata.flow.event;

import org.jspecify.annotations.NullMarked;

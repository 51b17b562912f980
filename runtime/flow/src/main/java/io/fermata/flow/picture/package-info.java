/**
 * Pictures of flows and of runs on them: what is to be seen, and its forms as Mermaid text and as
 * an SVG image. It knows no flow, and the flow's graph is turned into shapes and arrows elsewhere;
 * so is a conversation into the sequence diagram of it.
 *
 * <p>This room is part of the flow's: it knows no actor, no thread, no clock and no I/O.
 */
@NullMarked
package io.fermata.flow.picture;

import org.jspecify.annotations.NullMarked;

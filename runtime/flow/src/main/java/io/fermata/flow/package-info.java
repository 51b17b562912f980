/**
 * The flow language and the pure engine: what a flow is, what is wrong with it, and what a run of
 * it does next.
 *
 * <p>This room may use Jackson trees and JSON Schema libraries. It knows no actor, starts no
 * thread, reads no clock and does no I/O: time and results come in as {@link
 * io.fermata.flow.event.Input}s, and what must be done outside goes out as {@link
 * io.fermata.flow.event.Effect}s.
 */
@NullMarked
package io.fermata.flow;

import org.jspecify.annotations.NullMarked;

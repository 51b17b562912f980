/**
 * The shell: one persistent actor per session that journals, folds and performs, a gateway that
 * turns tool calls into commands and outcomes into replies, what wakes sessions and starts runs by
 * the clock, a ledger that lets the directory of runs follow, and the host that holds them. What it
 * does while it does it a {@link io.fermata.session.observe.Telemetry} is told; {@link
 * io.fermata.session.key.LogLabels} are what its logs are about.
 *
 * <p>This room may use flow, persistence and Pekko. It knows no transport: what arrives over MCP,
 * or from a test, is a {@link io.fermata.session.call.ToolCall}.
 */
@NullMarked
package io.fermata.session;

import org.jspecify.annotations.NullMarked;

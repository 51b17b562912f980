/**
 * The shell: one persistent actor per session that journals, folds and performs effects, a gateway
 * that turns tool calls into commands and outcomes into replies, timers and schedules, the
 * directory of sessions, and the host that contains them. A {@link
 * io.fermata.session.observe.Telemetry} observes it; {@link io.fermata.session.key.LogLabels} label
 * its logs.
 *
 * <p>Hosts that share a PostgreSQL store form a cluster: {@code io.fermata.session.cluster} divides
 * the sessions among them and sends calls to the host of their session.
 *
 * <p>This module may use flow, agent, persistence and Pekko. It knows no transport: every call is a
 * {@link io.fermata.session.call.ToolCall}.
 */
@NullMarked
package io.fermata.session;

import org.jspecify.annotations.NullMarked;

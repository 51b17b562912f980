/**
 * One request: the client that sent it, the queue of messages to that client, and the result.
 * {@link io.fermata.mcp.protocol.LegacyEra} is all that is known here of revisions before
 * 2026-07-28.
 */
@NullMarked
package io.fermata.mcp.protocol;

import org.jspecify.annotations.NullMarked;

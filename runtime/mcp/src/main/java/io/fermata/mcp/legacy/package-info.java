/**
 * The revisions from 2025-03-26 to 2025-11-25: handshake, transport sessions, streams opened with
 * GET, resumption, batches, and requests of the server to the client. Implements the interfaces
 * LegacyEra, LegacyTransport and StreamLog; only {@link io.fermata.mcp.McpServerBuilder} names a
 * class of this package, so that it can be deleted in one commit.
 */
@NullMarked
package io.fermata.mcp.legacy;

import org.jspecify.annotations.NullMarked;

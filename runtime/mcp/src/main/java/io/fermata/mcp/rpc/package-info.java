/**
 * JSON-RPC messages, their codec and errors, and the revisions of the protocol. Knows no method of
 * MCP.
 */
@NullMarked
package io.fermata.mcp.rpc;

import org.jspecify.annotations.NullMarked;

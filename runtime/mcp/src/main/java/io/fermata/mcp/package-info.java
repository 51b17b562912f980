/**
 * The doors: MCP over Streamable HTTP and over stdio, for every revision in use. Two thin edges
 * carry bytes; one transport-neutral core turns them into calls of a {@link
 * io.fermata.session.ToolHost}.
 *
 * <p>This room may use session, Vert.x as its HTTP server, and Jackson. It knows no flow and no
 * store, and no thread of it ever waits for a call.
 */
@NullMarked
package io.fermata.mcp;

import org.jspecify.annotations.NullMarked;

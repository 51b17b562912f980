/**
 * The doors: MCP over Streamable HTTP and over stdio, for every revision in use. Two thin edges
 * carry bytes; one transport-neutral core turns them into calls of a {@link
 * io.fermata.session.ToolHost}. Beside MCP, and behind the same checks, threads are served as they
 * are in {@link io.fermata.session.Threads}.
 *
 * <p>This room may use session, what agent calls a message, Vert.x as its HTTP server, and Jackson.
 * It knows no flow and no store, and no thread of it ever waits for a call.
 */
@NullMarked
package io.fermata.mcp;

import org.jspecify.annotations.NullMarked;

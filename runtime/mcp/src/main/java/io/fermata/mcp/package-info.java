/**
 * The doors: MCP over Streamable HTTP and over stdio, for every revision in use. Two thin edges
 * carry bytes; one transport-neutral core turns them into calls of a {@link
 * io.fermata.session.ToolHost}. Beside MCP, and behind the same checks, threads are served as they
 * are in {@link io.fermata.session.Threads}. Runs that outlast their calls are served as tasks, by
 * way of {@link io.fermata.session.Tasks}. What needs no flow is registered on the {@link
 * io.fermata.mcp.McpServerBuilder} as plain tools, resources and prompts, whose handlers see an
 * {@link io.fermata.mcp.McpCall}. Those who run a server find its health, and its metrics, beside
 * it; {@link io.fermata.mcp.McpServer#drain} ends it in good order.
 *
 * <p>This room may use session, what agent calls a message, how flow describes arguments and writes
 * JSON, Vert.x as its HTTP server, Nimbus to check access tokens, and Jackson. It knows no flow and
 * no store. No thread that serves ever waits for a call: authors' handlers have their own.
 */
@NullMarked
package io.fermata.mcp;

import org.jspecify.annotations.NullMarked;

/**
 * MCP over Streamable HTTP and stdio, for the revisions from 2025-03-26 to 2026-07-28. {@link
 * io.fermata.mcp.McpServer} offers the tools of a {@link io.fermata.session.ToolHost}, and the
 * tools, resources and prompts that are registered on its {@link io.fermata.mcp.McpServerBuilder};
 * threads, runs, health and metrics are served beside them over plain HTTP.
 *
 * <p>The module may use session, messages of agent, schemas and JSON of flow, Vert.x as HTTP
 * server, Nimbus for access tokens, and Jackson. It knows no flow and no store. No thread that
 * serves requests waits for a call: authors' handlers run on threads of their own.
 */
@NullMarked
package io.fermata.mcp;

import org.jspecify.annotations.NullMarked;

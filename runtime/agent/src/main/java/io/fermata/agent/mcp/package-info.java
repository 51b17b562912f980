/**
 * Tools of MCP servers. It may use the agent API and the MCP SDK, and starts no thread. The SDK has
 * its own threads, some of which keep a process alive until the {@link
 * io.fermata.agent.mcp.McpTools} is closed.
 */
@NullMarked
package io.fermata.agent.mcp;

import org.jspecify.annotations.NullMarked;

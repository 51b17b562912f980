/**
 * Tools that live in MCP servers. Nothing here starts a thread; the MCP SDK that it speaks through
 * has threads of its own, some of which keep a process alive until the {@link
 * io.fermata.agent.mcp.McpTools} is closed.
 */
@NullMarked
package io.fermata.agent.mcp;

import org.jspecify.annotations.NullMarked;

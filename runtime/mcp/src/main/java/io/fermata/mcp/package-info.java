/** MCP over Streamable HTTP and over stdio: {@link io.fermata.mcp.McpServer} is the entry point. */
@NullMarked
package io.fermata.mcp;

import org.jspecify.annotations.NullMarked;

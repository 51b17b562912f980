/** MCP over Streamable HTTP and over stdio: {@link io.fermata.mcp.McpServer} is the way in. */
@NullMarked
package io.fermata.mcp;

import org.jspecify.annotations.NullMarked;

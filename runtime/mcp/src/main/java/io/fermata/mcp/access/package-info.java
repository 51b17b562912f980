/**
 * Authentication of callers by API key or access token, scopes of tools, and quotas per principal.
 * Knows no method of MCP.
 */
@NullMarked
package io.fermata.mcp.access;

import org.jspecify.annotations.NullMarked;

/** Threads and runs over plain HTTP, beside MCP. */
@NullMarked
package io.fermata.mcp.rest;

import org.jspecify.annotations.NullMarked;

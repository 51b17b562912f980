/**
 * Flows and agents to copy from, the pages that render the flows' widgets, a server that offers
 * them to MCP clients and over HTTP, and a chat in the terminal.
 */
@NullMarked
package io.fermata.examples;

import org.jspecify.annotations.NullMarked;

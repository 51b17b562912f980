/**
 * Flows to copy from, the pages that render their widgets, and a server that offers them to MCP
 * clients.
 */
@NullMarked
package io.fermata.examples;

import org.jspecify.annotations.NullMarked;

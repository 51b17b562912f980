/**
 * Streamable HTTP: requests, responses that become streams of events, and the endpoints of
 * operators.
 */
@NullMarked
package io.fermata.mcp.http;

import org.jspecify.annotations.NullMarked;

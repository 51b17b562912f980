/**
 * Settings of a server besides its features: whose access tokens it accepts, and what one principal
 * may use.
 */
@NullMarked
package io.fermata.mcp.settings;

import org.jspecify.annotations.NullMarked;

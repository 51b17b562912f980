/**
 * What the server offers now, how it is described to clients, and the subscriptions to its changes.
 */
@NullMarked
package io.fermata.mcp.catalog;

import org.jspecify.annotations.NullMarked;

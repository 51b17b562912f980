/**
 * From bytes to a method and back: validates a message, selects its revision, and dispatches it.
 */
@NullMarked
package io.fermata.mcp.dispatch;

import org.jspecify.annotations.NullMarked;

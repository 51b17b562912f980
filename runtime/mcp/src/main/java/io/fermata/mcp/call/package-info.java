/**
 * The methods that call tools, read resources, get prompts, complete arguments, and follow tasks.
 */
@NullMarked
package io.fermata.mcp.call;

import org.jspecify.annotations.NullMarked;

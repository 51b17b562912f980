/**
 * The server features that an author writes: tools, resources, resource templates and prompts, and
 * the call that their handlers see.
 */
@NullMarked
package io.fermata.mcp.feature;

import org.jspecify.annotations.NullMarked;

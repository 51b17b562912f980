@NullMarked
package io.fermata.agent.mcp;

import org.jspecify.annotations.NullMarked;

@NullMarked
package io.fermata.agent.tool;

import org.jspecify.annotations.NullMarked;

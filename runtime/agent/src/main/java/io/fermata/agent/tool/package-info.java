/** Tools from the annotated methods of an object. */
@NullMarked
package io.fermata.agent.tool;

import org.jspecify.annotations.NullMarked;

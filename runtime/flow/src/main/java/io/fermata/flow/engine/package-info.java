/** The program of a flow: which events follow an input, and what is to be performed next. */
@NullMarked
package io.fermata.flow.engine;

import org.jspecify.annotations.NullMarked;

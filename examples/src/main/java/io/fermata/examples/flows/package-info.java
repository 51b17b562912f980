/** The example flows and agents, each a whole of its own to be copied. */
@NullMarked
package io.fermata.examples.flows;

import org.jspecify.annotations.NullMarked;

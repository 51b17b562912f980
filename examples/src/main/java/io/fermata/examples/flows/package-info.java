/** The example flows and agents, each complete in itself, to be copied. */
@NullMarked
package io.fermata.examples.flows;

import org.jspecify.annotations.NullMarked;

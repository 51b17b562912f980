/** The flow language. */
@NullMarked
package io.fermata.flow;

import org.jspecify.annotations.NullMarked;

/** Tests of evaluations. */
@NullMarked
package io.fermata.testkit.eval;

import org.jspecify.annotations.NullMarked;

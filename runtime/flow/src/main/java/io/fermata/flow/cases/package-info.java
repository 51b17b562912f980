/**
 * What the kinds of a sealed interface mean, as a table in place of a chain of tests. Uses nothing
 * of Fermata.
 */
@NullMarked
package io.fermata.flow.cases;

import org.jspecify.annotations.NullMarked;

/** What every store promises, for the tests of the modules that have stores. */
@NullMarked
package io.fermata.persistence.contract;

import org.jspecify.annotations.NullMarked;

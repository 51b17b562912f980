/** The store that lives in the process and ends with it. */
@NullMarked
package io.fermata.persistence.memory;

import org.jspecify.annotations.NullMarked;

/** The store in memory, which ends with its process. */
@NullMarked
package io.fermata.persistence.memory;

import org.jspecify.annotations.NullMarked;

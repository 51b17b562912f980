/**
 * Stores of journals. A {@link io.fermata.persistence.Store} names one; a host opens it. Nothing
 * falls back to memory silently.
 */
@NullMarked
package io.fermata.persistence;

import org.jspecify.annotations.NullMarked;

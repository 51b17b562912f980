/** The store in PostgreSQL: its schema, its pool and the claim that admits one host. */
@NullMarked
package io.fermata.persistence.postgres;

import org.jspecify.annotations.NullMarked;

/**
 * The store in a SQLite file: its schema, its connections, its backup and the claim that admits one
 * host.
 */
@NullMarked
package io.fermata.persistence.sqlite;

import org.jspecify.annotations.NullMarked;

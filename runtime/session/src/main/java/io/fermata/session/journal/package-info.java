/** The stored data: entries, snapshots, their serialization and the encryption of secrets. */
@NullMarked
package io.fermata.session.journal;

import org.jspecify.annotations.NullMarked;

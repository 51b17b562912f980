/**
 * What is stored: entries, snapshots, their serialization, and the encryption of what is secret.
 */
@NullMarked
package io.fermata.session.journal;

import org.jspecify.annotations.NullMarked;

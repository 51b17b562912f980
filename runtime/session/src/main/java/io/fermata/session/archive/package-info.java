/** Exports and recordings of sessions: written, read, checked, imported. Above the host. */
@NullMarked
package io.fermata.session.archive;

import org.jspecify.annotations.NullMarked;

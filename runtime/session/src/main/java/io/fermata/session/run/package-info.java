/** Sessions of flows: calls become inputs, outcomes become replies and entries. */
@NullMarked
package io.fermata.session.run;

import org.jspecify.annotations.NullMarked;

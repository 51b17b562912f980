/** Sessions of agents: threads. */
@NullMarked
package io.fermata.session.thread;

import org.jspecify.annotations.NullMarked;

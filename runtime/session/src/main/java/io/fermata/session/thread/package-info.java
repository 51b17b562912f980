/** What makes a session an agent's thread. */
@NullMarked
package io.fermata.session.thread;

import org.jspecify.annotations.NullMarked;

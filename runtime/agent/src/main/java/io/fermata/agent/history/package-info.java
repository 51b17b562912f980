/** Reads a thread's journal backwards, and no further than needed. */
@NullMarked
package io.fermata.agent.history;

import org.jspecify.annotations.NullMarked;

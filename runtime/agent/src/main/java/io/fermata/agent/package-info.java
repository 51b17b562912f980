/**
 * Two-sided agents: their prompts, tools and hooks, the state of a thread, and the turn loop, which
 * is a {@link io.fermata.flow.Program}. It may use flow and the model port, and starts no thread.
 */
@NullMarked
package io.fermata.agent;

import org.jspecify.annotations.NullMarked;

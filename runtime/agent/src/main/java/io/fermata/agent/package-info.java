/**
 * Two-sided agents: sides, prompts, tools and hooks, the state they are handed, and the turn loop
 * as a pure machine. It may use the flow and a model's port, and starts no thread of its own.
 */
@NullMarked
package io.fermata.agent;

import org.jspecify.annotations.NullMarked;

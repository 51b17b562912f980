/**
 * The turn loop: decides what a thread does next, and calls models, tools and hooks. It starts no
 * Java threads.
 */
@NullMarked
package io.fermata.agent.engine;

import org.jspecify.annotations.NullMarked;

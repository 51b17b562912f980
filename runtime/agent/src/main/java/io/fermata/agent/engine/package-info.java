/**
 * The turn loop: what a thread does next, and how models, tools and hooks are called for it. It
 * starts no thread of its own.
 */
@NullMarked
package io.fermata.agent.engine;

import org.jspecify.annotations.NullMarked;

/**
 * Agents: their two sides, prompts, tools and hooks. Authors use this package; it describes agents
 * and runs nothing.
 */
@NullMarked
package io.fermata.agent;

import org.jspecify.annotations.NullMarked;

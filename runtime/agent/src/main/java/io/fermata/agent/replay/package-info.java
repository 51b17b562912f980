/**
 * Journals of threads as values, and deciding them again: what agents did is compared with what
 * their present code would decide. Uses the engine; nothing uses it but hosts and tests.
 */
@NullMarked
package io.fermata.agent.replay;

import org.jspecify.annotations.NullMarked;

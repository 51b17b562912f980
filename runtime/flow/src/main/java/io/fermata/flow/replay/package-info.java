/**
 * Journals as values, and deciding them again: what a run did is compared with what the present
 * code of its flow would decide. Uses the engine and the recorders; nothing uses it but hosts and
 * tests.
 */
@NullMarked
package io.fermata.flow.replay;

import org.jspecify.annotations.NullMarked;

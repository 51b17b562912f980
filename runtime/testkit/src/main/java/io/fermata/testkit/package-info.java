/**
 * Test tools for authors of flows and agents: {@link io.fermata.testkit.FlowProbe} drives the pure
 * engine in virtual time, without actors; {@link io.fermata.testkit.SessionProbe} drives a real
 * host by the same methods; {@link io.fermata.testkit.ScriptedModel} stands in for a model.
 *
 * <p>A failed expectation is an {@link AssertionError} that says what was expected, what the run
 * did instead and how it got there, so it works with every test framework.
 */
@NullMarked
package io.fermata.testkit;

import org.jspecify.annotations.NullMarked;

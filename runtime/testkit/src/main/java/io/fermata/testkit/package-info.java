/**
 * What authors test their flows with: {@link io.fermata.testkit.FlowProbe} drives the pure engine
 * in virtual time, without any actor; {@link io.fermata.testkit.HostProbe} drives a real host with
 * the same words.
 *
 * <p>A failed expectation is an {@link AssertionError} that tells what was expected, what the run
 * did instead and how it got there, so it works with every test framework.
 */
@NullMarked
package io.fermata.testkit;

import org.jspecify.annotations.NullMarked;

/**
 * The parts of a host and its upkeep: agents as tools, archives, erasure, rollout and schedules.
 */
@NullMarked
package io.fermata.session.host;

import org.jspecify.annotations.NullMarked;

/** The parts of a host: agents as tools, tasks, archives, erasure, schedules and upkeep. */
@NullMarked
package io.fermata.session.host;

import org.jspecify.annotations.NullMarked;

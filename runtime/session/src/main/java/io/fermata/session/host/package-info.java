/** The parts of a host: agents as tools, tasks, forks, erasure, schedules and upkeep. */
@NullMarked
package io.fermata.session.host;

import org.jspecify.annotations.NullMarked;

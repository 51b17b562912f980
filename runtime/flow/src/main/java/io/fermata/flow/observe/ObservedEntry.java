package io.fermata.flow.observe;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import java.util.List;

/**
 * An entry of a journal, and all observations derived from it.
 *
 * @param before the state before it
 * @param events what it holds
 * @param observations what recorders get of it
 */
public record ObservedEntry(RunState before, List<Event> events, List<Observation> observations) {}

package io.fermata.flow.replay;

import io.fermata.flow.event.Event;

/**
 * A decision that leads another way: by which rules, and on what values, is in its events.
 *
 * @param change what it is counted as
 * @param recorded the decision of the journal
 * @param now that of the present code
 */
public record OtherDecision(Change change, Event.Decided recorded, Event.Decided now) {}

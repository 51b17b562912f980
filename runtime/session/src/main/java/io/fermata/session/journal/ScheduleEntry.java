package io.fermata.session.journal;

/**
 * How far a schedule has come: each record of its journal says it all, so the last is its state.
 *
 * @param at when it was written, in milliseconds since 1970
 * @param rhythm when the schedule's occurrences came, as its text
 * @param upTo what came until then, and at that time, is dealt with
 * @param starting the run of the occurrence at {@code upTo} may not be started yet
 */
public record ScheduleEntry(long at, String rhythm, long upTo, boolean starting)
    implements Journaled {

  public static final ScheduleEntry NONE = new ScheduleEntry(0, "", 0, false);
}

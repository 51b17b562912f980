package io.fermata.session.journal;

/**
 * The progress of a schedule. Each entry is complete, so the last one is the state.
 *
 * @param at when it was written, in milliseconds since 1970
 * @param rhythm the rhythm of the schedule, as text
 * @param upTo occurrences up to and including this time are handled
 * @param starting whether the run of the occurrence at {@code upTo} may not be started yet
 */
public record ScheduleEntry(long at, String rhythm, long upTo, boolean starting)
    implements Journaled {

  public static final ScheduleEntry NONE = new ScheduleEntry(0, "", 0, false);
}

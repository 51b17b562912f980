package io.fermata.persistence;

import java.util.OptionalLong;

/** The tags by which a session tells its store what a journal record means for the host. */
public final class JournalTags {

  /**
   * The record leaves effects unfinished. A journal whose last record carries this tag is listed by
   * {@link OpenStore#working()}, so a host that starts again wakes just these sessions.
   */
  public static final String WORKING = "working";

  /**
   * The run is over and this record alone says how. {@link OpenStore#sweep()} deletes everything
   * that lies before it, so folding this record onto any earlier state, or onto none, must give the
   * same final state.
   */
  public static final String ENDED = "ended";

  private static final String DUE = "due:";

  /** As many as the largest number has, so that text order is time order. */
  private static final int DIGITS = 19;

  private JournalTags() {}

  /**
   * The journal is to be looked at again at that time. A journal whose last record carries this tag
   * is listed by {@link OpenStore#due}, so a session need not stay in memory to keep its
   * appointments. A record carries at most one. A time before 1970 counts as 1970.
   *
   * @param epochMillis when, in milliseconds since 1970
   */
  public static String due(long epochMillis) {
    String digits = Long.toString(Math.max(0, epochMillis));
    return DUE + "0".repeat(DIGITS - digits.length()) + digits;
  }

  /** The time in a tag that {@link #due} made, empty for any other tag. */
  public static OptionalLong dueAt(String tag) {
    return tag.startsWith(DUE)
        ? OptionalLong.of(Long.parseLong(tag, DUE.length(), tag.length(), 10))
        : OptionalLong.empty();
  }
}

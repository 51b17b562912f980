package io.fermata.persistence.spi;

import java.util.OptionalLong;

/** The tags of journal records, by which a store finds the sessions that need attention. */
public final class JournalTags {

  /**
   * The record leaves effects unfinished. A journal whose last record carries this tag is listed by
   * {@link OpenStore#unfinished}, so a host that restarts wakes just these sessions.
   */
  public static final String UNFINISHED = "working";

  private static final String DUE = "due:";
  private static final String SWEEP = "sweep:";
  private static final String FORGET = "forget:";

  /** As many as a long has, so that text order is time order. */
  private static final int DIGITS = 19;

  private JournalTags() {}

  /**
   * The session is due at that time. A journal whose last record carries this tag is listed by
   * {@link OpenStore#due}, so a session need not stay in memory to wait. A record has at most one.
   * A time before 1970 counts as 1970.
   *
   * @param epochMillis when, in milliseconds since 1970
   */
  public static String due(long epochMillis) {
    return timed(DUE, epochMillis);
  }

  /**
   * The run has ended, and this record alone describes its end. From that time on {@link
   * OpenStore#sweep} deletes everything that lies before it, so folding this record onto any
   * earlier state, or onto none, must give the same final state.
   *
   * @param epochMillis when, in milliseconds since 1970
   */
  public static String sweep(long epochMillis) {
    return timed(SWEEP, epochMillis);
  }

  /**
   * The journal up to this record expires at that time: {@link OpenStore#sweep} deletes it then,
   * and what follows must be complete without it.
   *
   * @param epochMillis when, in milliseconds since 1970
   */
  public static String forget(long epochMillis) {
    return timed(FORGET, epochMillis);
  }

  private static String timed(String tag, long epochMillis) {
    String digits = Long.toString(Math.max(0, epochMillis));
    return tag + "0".repeat(DIGITS - digits.length()) + digits;
  }

  /** The time at which a tag concerns a sweep, empty if it never does. */
  public static OptionalLong upkeepAt(String tag) {
    return tag.startsWith(SWEEP) ? sweepAt(tag) : forgetAt(tag);
  }

  /** The time in a tag that {@link #sweep} made, empty for any other tag. */
  public static OptionalLong sweepAt(String tag) {
    return at(SWEEP, tag);
  }

  /** The time in a tag that {@link #forget} made, empty for any other tag. */
  public static OptionalLong forgetAt(String tag) {
    return at(FORGET, tag);
  }

  private static OptionalLong at(String kind, String tag) {
    return tag.startsWith(kind)
        ? OptionalLong.of(Long.parseLong(tag, kind.length(), tag.length(), 10))
        : OptionalLong.empty();
  }

  /** The time in a tag that {@link #due} made, empty for any other tag. */
  public static OptionalLong dueAt(String tag) {
    return at(DUE, tag);
  }
}

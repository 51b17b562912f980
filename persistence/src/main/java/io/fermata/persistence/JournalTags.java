package io.fermata.persistence;

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

  private JournalTags() {}
}

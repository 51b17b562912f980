package io.fermata.flow.replay;

/**
 * One thing that would have been otherwise in a run, had the present code decided it.
 *
 * @param node where; empty if it concerns the run as a whole
 * @param text what, in words that are the same for all runs: without their values
 */
public record Change(Kind kind, String node, String text) {

  /** What is otherwise. */
  public enum Kind {
    /** A decision leads another way. */
    DECISION("another decision"),
    /** A validator judges or normalises an answer otherwise. */
    ANSWER("an answer judged otherwise"),
    /** A call is refused. */
    CALL("a call refused"),
    /** A question or widget that was not put. */
    QUESTION_ADDED("asked in addition"),
    /** A question or widget that is not put any more. */
    QUESTION_DROPPED("no longer asked"),
    /** A question or widget with other words or data. */
    QUESTION_CHANGED("asked otherwise"),
    /** The model of an agent is asked something else. */
    REQUEST("a model asked otherwise"),
    /** An effect that did not happen. */
    EFFECT_ADDED("effect in addition"),
    /** An effect that does not happen any more. */
    EFFECT_DROPPED("effect no longer"),
    /** The run ends otherwise, or does not. */
    OUTCOME("another outcome"),
    /** The run could not be carried over to the new version. */
    MIGRATION("cannot be carried over"),
    /** Anything else, such as a value, a deadline or a retry. */
    OTHER("something else");

    private final String title;

    Kind(String title) {
      this.title = title;
    }

    /** What is otherwise, for a person. */
    public String title() {
      return title;
    }
  }
}

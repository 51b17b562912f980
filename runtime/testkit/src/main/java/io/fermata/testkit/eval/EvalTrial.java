package io.fermata.testkit.eval;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.agent.model.Usage;

/**
 * One conversation of an evaluation.
 *
 * @param name the case
 * @param number which repetition it is, from 1
 * @param reason why it did not pass; empty if it did
 * @param calls how many calls of tools models requested
 * @param steps how often models were asked
 * @param usage what the agent used, without its judges
 * @param judging what its judges used
 * @param transcript what was said
 */
public record EvalTrial(
    @JsonProperty("case") String name,
    String variant,
    int number,
    Outcome outcome,
    String reason,
    int calls,
    int steps,
    Usage usage,
    Usage judging,
    String transcript) {

  /** The outcome of a trial. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Outcome {
    PASSED,
    /** A judge said no. */
    FAILED,
    /** A model called a tool that the recording has no such call of, and nothing else answers. */
    DIVERGED,
    /** A judge failed, or its model gave no readable verdict or did not reply. */
    UNJUDGED,
    /** No model replied, the agent was still working at the timeout, or the user or host failed. */
    BROKEN
  }

  public boolean passed() {
    return outcome == Outcome.PASSED;
  }
}

package io.fermata.testkit.eval;

import io.fermata.agent.model.Usage;

/**
 * What a judge says of a conversation.
 *
 * @param reason why it did not pass, or why it did
 * @param usage what judging cost
 */
public record EvalVerdict(boolean passed, String reason, Usage usage) {

  public static EvalVerdict of(boolean passed, String reason) {
    return new EvalVerdict(passed, reason, Usage.ZERO);
  }
}

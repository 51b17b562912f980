package io.fermata.agent.model;

import dev.langchain4j.model.output.TokenUsage;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of one call, as a budget and a price count them.
 *
 * @param input all that the model read, including what came from a cache
 * @param cached how many of them came from a cache
 * @param output all that the model wrote, including what it thought
 */
public record TokenCounts(long input, long cached, long output) {
  public TokenCounts {
    if (input < 0 || cached < 0 || output < 0) {
      throw new IllegalArgumentException(
          "%s input, %s cached and %s output tokens are no counts; none is negative"
              .formatted(input, cached, output));
    }
    if (cached > input) {
      throw new IllegalArgumentException(
          "%s of %s input tokens cannot have come from a cache; count cached tokens into the input, as TokenCounts.beside does"
              .formatted(cached, input));
    }
  }

  /** Of a provider whose input tokens include cached ones, as OpenAI's do. */
  public static TokenCounts within(TokenUsage reported, @Nullable Integer cached) {
    return new TokenCounts(count(reported.inputTokenCount()), count(cached), output(reported));
  }

  /**
   * Of a provider that reports beside its input tokens what it read from a cache and what it wrote
   * to one, as Anthropic does.
   *
   * @param read cost what cached input does
   * @param written cost what input does
   */
  public static TokenCounts beside(
      TokenUsage reported, @Nullable Integer read, @Nullable Integer written) {
    return new TokenCounts(
        count(reported.inputTokenCount()) + count(read) + count(written),
        count(read),
        output(reported));
  }

  /** Some, as Gemini, count what a model thought in the total alone, and charge it as output. */
  private static long output(TokenUsage reported) {
    return Math.max(
        count(reported.outputTokenCount()),
        count(reported.totalTokenCount()) - count(reported.inputTokenCount()));
  }

  private static long count(@Nullable Integer tokens) {
    return tokens == null ? 0 : Math.max(0, tokens);
  }
}

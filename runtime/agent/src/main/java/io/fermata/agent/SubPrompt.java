package io.fermata.agent;

import io.fermata.flow.schema.ArgumentSchema;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A prompt that another prompt's model calls like a tool: one step of its own model in the same
 * thread, one level deeper; its text and the results of its tools become the call's result.
 *
 * @param userMessage the argument that becomes the message to the prompt; null for all of them as
 *     JSON
 * @param text whether the result contains the prompt's reply
 * @param toolCalls whether the result contains the results of its tools
 * @param errors whether the result contains the errors of its tools
 */
public record SubPrompt(
    Prompt prompt, @Nullable String userMessage, boolean text, boolean toolCalls, boolean errors)
    implements Offered {

  /** The argument that becomes the message to the prompt, instead of all of them as JSON. */
  public SubPrompt userMessage(String argument) {
    Objects.requireNonNull(argument, "argument");
    return new SubPrompt(prompt, argument, text, toolCalls, errors);
  }

  /** The same with another prompt. */
  SubPrompt asking(Prompt other) {
    return new SubPrompt(other, userMessage, text, toolCalls, errors);
  }

  public SubPrompt withoutText() {
    return new SubPrompt(prompt, userMessage, false, toolCalls, errors);
  }

  public SubPrompt withoutToolCalls() {
    return new SubPrompt(prompt, userMessage, text, false, errors);
  }

  public SubPrompt withoutErrors() {
    return new SubPrompt(prompt, userMessage, text, toolCalls, false);
  }

  @Override
  public String name() {
    return prompt.name();
  }

  @Override
  public String description() {
    return prompt.toolDescription();
  }

  @Override
  public SubPrompt withDescription(String text) {
    Objects.requireNonNull(text, "description");
    return asking(prompt.toolDescription(text));
  }

  @Override
  public ArgumentSchema arguments() {
    return prompt.requiredSchema();
  }
}

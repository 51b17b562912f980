package io.fermata.agent.model;

import dev.langchain4j.data.message.AiMessage;
import java.util.List;

/**
 * What a model said.
 *
 * @param message its text and tool calls; both may be missing
 * @param model the name of the model that answered, which may be a fallback
 * @param finish why it ended: {@code stop}, {@code length}, {@code tool_execution}, {@code
 *     content_filter} or {@code other}
 * @param usage what it cost; failed attempts are not in it, since nobody tells their usage
 * @param attempts those that came to nothing before
 */
public record ModelReply(
    AiMessage message, String model, String finish, Usage usage, List<ModelAttempt> attempts) {
  public ModelReply {
    attempts = List.copyOf(attempts);
  }
}

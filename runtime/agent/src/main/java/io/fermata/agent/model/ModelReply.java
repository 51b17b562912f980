package io.fermata.agent.model;

import dev.langchain4j.data.message.AiMessage;
import java.util.List;

/**
 * The reply of a model.
 *
 * @param message its text and tool calls; both may be missing
 * @param model the name of the model that replied, which may be a fallback
 * @param finish why it ended: {@code stop}, {@code length}, {@code tool_execution}, {@code
 *     content_filter} or {@code other}
 * @param usage its usage, with that of replies before it that a content filter withheld; that of
 *     other failed attempts is unknown
 * @param attempts the failed attempts before it
 */
public record ModelReply(
    AiMessage message, String model, String finish, Usage usage, List<ModelAttempt> attempts) {
  private static final String CUT_OFF = "length";

  public ModelReply {
    attempts = List.copyOf(attempts);
  }

  /** Whether a finish means that the output limit of the model cut off the reply. */
  public static boolean cutOff(String finish) {
    return finish.equals(CUT_OFF);
  }
}

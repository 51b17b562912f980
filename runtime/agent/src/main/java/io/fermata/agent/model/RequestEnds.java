package io.fermata.agent.model;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * Lets a request begin and end with the other side, as some providers refuse one that begins with a
 * call or words of the model, or ends with its words.
 */
final class RequestEnds {
  private static final UserMessage BEFORE = UserMessage.from("(The conversation so far:)");
  private static final UserMessage AFTER = UserMessage.from("Go on.");

  private RequestEnds() {}

  static ChatRequest of(ChatRequest request) {
    List<ChatMessage> messages = request.messages();
    List<ChatMessage> talk =
        messages.stream().filter(message -> !(message instanceof SystemMessage)).toList();
    boolean before = !talk.isEmpty() && talk.get(0) instanceof AiMessage;
    boolean after = talk.isEmpty() || talk.get(talk.size() - 1) instanceof AiMessage;
    if (!before && !after) {
      return request;
    }
    List<ChatMessage> ended = new ArrayList<>(messages);
    if (before) {
      ended.add(messages.indexOf(talk.get(0)), BEFORE);
    }
    if (after) {
      ended.add(AFTER);
    }
    return request.toBuilder().messages(ended).build();
  }
}

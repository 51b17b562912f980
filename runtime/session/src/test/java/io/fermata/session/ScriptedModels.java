package io.fermata.session;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.fermata.agent.model.Model;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Models of agents that say what a test wants. */
public final class ScriptedModels {
  private ScriptedModels() {}

  public static Model saying(String text) {
    return answering(messages -> AiMessage.from(text));
  }

  public static Model answering(Function<List<ChatMessage>, AiMessage> says) {
    return Model.of(
        "scripted",
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return ChatResponse.builder().aiMessage(says.apply(request.messages())).build();
          }
        });
  }

  /** Calls a tool once, and then speaks of what came of it. */
  public static Model calling(String tool, String arguments, UnaryOperator<String> says) {
    ToolExecutionRequest request =
        ToolExecutionRequest.builder().id("1").name(tool).arguments(arguments).build();
    return answering(
        messages ->
            messages.get(messages.size() - 1) instanceof ToolExecutionResultMessage result
                ? AiMessage.from(says.apply(result.text()))
                : AiMessage.from(request));
  }
}

package io.fermata.agent.model;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The ids of calls as Mistral takes them, which refuses a request with those of other providers.
 */
final class CallIds {
  private static final int LENGTH = 9;

  private static final Pattern TAKEN = Pattern.compile("[a-zA-Z0-9]{" + LENGTH + "}");

  private CallIds() {}

  /** With the same id for a call and its result, and in every request. */
  static ChatRequest ofMistral(ChatRequest request) {
    return request.toBuilder()
        .messages(request.messages().stream().map(CallIds::ofMistral).toList())
        .build();
  }

  private static ChatMessage ofMistral(ChatMessage message) {
    if (message instanceof AiMessage said && said.hasToolExecutionRequests()) {
      return said.toBuilder()
          .toolExecutionRequests(
              said.toolExecutionRequests().stream().map(CallIds::ofMistral).toList())
          .build();
    } else if (message instanceof ToolExecutionResultMessage result) {
      return result.toBuilder().id(taken(result.id())).build();
    }
    return message;
  }

  private static ToolExecutionRequest ofMistral(ToolExecutionRequest call) {
    return call.toBuilder().id(taken(call.id())).build();
  }

  private static @Nullable String taken(@Nullable String id) {
    if (id == null || TAKEN.matcher(id).matches()) {
      return id;
    }
    UUID digest = UUID.nameUUIDFromBytes(id.getBytes(StandardCharsets.UTF_8));
    String text =
        new BigInteger(digest.toString().replace("-", ""), 16).toString(Character.MAX_RADIX);
    return text.substring(text.length() - LENGTH);
  }
}

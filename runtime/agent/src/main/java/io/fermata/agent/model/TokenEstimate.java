package io.fermata.agent.model;

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.output.TokenUsage;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * About how many tokens a request has, and a call took whose provider reports none, so that budgets
 * hold with it, too: one for four bytes of text, calls and descriptions of tools. Images and files
 * do not count.
 */
final class TokenEstimate {
  static final int BYTES = 4;

  private TokenEstimate() {}

  static TokenUsage of(ChatRequest request, AiMessage reply) {
    return new TokenUsage(of(request), of(List.of(reply)));
  }

  static int of(List<ChatMessage> messages) {
    return tokens(messages.stream().mapToLong(TokenEstimate::bytes).sum());
  }

  static int of(ChatRequest request) {
    long input = request.messages().stream().mapToLong(TokenEstimate::bytes).sum();
    for (ToolSpecification tool : orNone(request.toolSpecifications())) {
      input += bytes(tool.name()) + bytes(tool.description());
      input += tool.parameters() == null ? 0 : bytes(tool.parameters().toString());
    }
    return tokens(input);
  }

  private static int tokens(long bytes) {
    return (int) Math.min(Integer.MAX_VALUE, (bytes + BYTES - 1) / BYTES);
  }

  private static long bytes(ChatMessage message) {
    if (message instanceof UserMessage user) {
      return bytes(user.contents());
    } else if (message instanceof SystemMessage system) {
      return bytes(system.text());
    } else if (message instanceof ToolExecutionResultMessage result) {
      return bytes(result.contents());
    } else if (message instanceof AiMessage ai) {
      return bytes(ai.text())
          + bytes(ai.thinking())
          + ai.attributes().values().stream().mapToLong(value -> bytes(String.valueOf(value))).sum()
          + ai.toolExecutionRequests().stream()
              .mapToLong(call -> bytes(call.name()) + bytes(call.arguments()))
              .sum();
    }
    return bytes(message.toString());
  }

  private static long bytes(List<Content> contents) {
    return contents.stream()
        .filter(TextContent.class::isInstance)
        .mapToLong(content -> bytes(((TextContent) content).text()))
        .sum();
  }

  static long bytes(@Nullable String text) {
    return text == null ? 0 : text.getBytes(StandardCharsets.UTF_8).length;
  }

  private static <T> List<T> orNone(@Nullable List<T> some) {
    return some == null ? List.of() : some;
  }
}

package io.fermata.agent.model;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Makes the calls of a request without tools a text of the user, as some providers refuse them
 * there. A model that read them as its own words would answer in such words. What the user says
 * before and after is in the same message, as these providers refuse two in a row, too.
 */
final class CallsAsText {
  private CallsAsText() {}

  static ChatRequest of(ChatRequest request) {
    boolean tools = request.toolSpecifications() != null && !request.toolSpecifications().isEmpty();
    return tools || request.messages().stream().noneMatch(CallsAsText::ofCall)
        ? request
        : request.toBuilder().messages(withoutCalls(request.messages())).build();
  }

  private static boolean ofCall(ChatMessage message) {
    return message instanceof ToolExecutionResultMessage
        || (message instanceof AiMessage said && said.hasToolExecutionRequests());
  }

  private static List<ChatMessage> withoutCalls(List<ChatMessage> messages) {
    List<ChatMessage> shown = new ArrayList<>();
    List<String> results = new ArrayList<>();
    Map<String, String> arguments = new HashMap<>();
    for (ChatMessage message : messages) {
      if (message instanceof ToolExecutionResultMessage result) {
        results.add(
            "%s %s returned: %s"
                .formatted(
                    result.toolName(),
                    arguments.getOrDefault(result.id(), "{}"),
                    text(result.contents())));
        continue;
      }
      flush(results, shown);
      if (message instanceof AiMessage said && said.hasToolExecutionRequests()) {
        for (ToolExecutionRequest call : said.toolExecutionRequests()) {
          arguments.put(call.id(), call.arguments());
        }
        if (said.text() != null && !said.text().isBlank()) {
          shown.add(AiMessage.from(said.text()));
        }
      } else {
        add(message, shown);
      }
    }
    flush(results, shown);
    return shown;
  }

  private static void flush(List<String> results, List<ChatMessage> shown) {
    if (!results.isEmpty()) {
      add(UserMessage.from("(Calls of tools:)\n" + String.join("\n", results)), shown);
      results.clear();
    }
  }

  private static void add(ChatMessage message, List<ChatMessage> shown) {
    int last = shown.size() - 1;
    if (message instanceof UserMessage more
        && last >= 0
        && shown.get(last) instanceof UserMessage user) {
      shown.set(last, user.toBuilder().contents(joined(user.contents(), more.contents())).build());
    } else {
      shown.add(message);
    }
  }

  /** Texts that meet become one, as not every server takes several. */
  private static List<Content> joined(List<Content> first, List<Content> second) {
    List<Content> joined = new ArrayList<>(first);
    for (Content content : second) {
      int last = joined.size() - 1;
      if (content instanceof TextContent more
          && last >= 0
          && joined.get(last) instanceof TextContent text) {
        joined.set(last, TextContent.from(text.text() + "\n\n" + more.text()));
      } else {
        joined.add(content);
      }
    }
    return joined;
  }

  private static String text(List<Content> contents) {
    return contents.stream()
        .filter(TextContent.class::isInstance)
        .map(content -> ((TextContent) content).text())
        .collect(Collectors.joining("\n"));
  }
}

package io.fermata.agent.model;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Makes a request fit into the context of its model. The latest messages are kept; one that is too
 * long for what remains is shortened to half of that, and the older ones are left out, which the
 * request says. A call and its result stay together.
 */
final class RequestFit {
  /** In tokens: what is shortened to less is of no use. */
  private static final int LEAST = 64;

  /** In tokens: the text about what is left out. */
  private static final int NOTE = 32;

  private static final String LEFT_OUT =
      "(%s messages of this conversation are left out, as they do not fit into a request.)";

  private static final String SHORTENED = " (shortened, %s characters in all)";

  private final List<List<ChatMessage>> units;
  private int room;

  private RequestFit(List<List<ChatMessage>> units, int room) {
    this.units = units;
    this.room = room;
  }

  static ChatRequest of(ChatRequest request, int tokens) {
    ChatRequest ended = RequestEnds.of(request);
    int all = TokenEstimate.of(ended);
    if (all <= tokens) {
      return ended;
    }
    List<ChatMessage> messages = request.messages();
    int head = messages.get(0) instanceof SystemMessage ? 1 : 0;
    List<ChatMessage> talk = messages.subList(head, messages.size());
    int fixed = all - TokenEstimate.of(talk);
    int room = Math.max(1, Math.max(tokens / 4, tokens - fixed) - NOTE);
    List<ChatMessage> fitted = new ArrayList<>(messages.subList(0, head));
    fitted.addAll(new RequestFit(units(talk), room).fitted());
    return RequestEnds.of(request.toBuilder().messages(fitted).build());
  }

  /** The messages that are kept or left out together. */
  private static List<List<ChatMessage>> units(List<ChatMessage> messages) {
    List<List<ChatMessage>> units = new ArrayList<>();
    for (ChatMessage message : messages) {
      if (units.isEmpty() || !(message instanceof ToolExecutionResultMessage)) {
        units.add(new ArrayList<>());
      }
      units.get(units.size() - 1).add(message);
    }
    return units;
  }

  private List<ChatMessage> fitted() {
    TreeMap<Integer, List<ChatMessage>> kept = new TreeMap<>();
    for (int place : order()) {
      List<ChatMessage> unit = fitted(units.get(place), kept.isEmpty());
      if (unit == null) {
        break;
      }
      kept.put(place, unit);
      room -= TokenEstimate.of(unit);
    }
    List<ChatMessage> fitted = kept.values().stream().flatMap(List::stream).toList();
    int left = units.stream().mapToInt(List::size).sum() - fitted.size();
    if (left == 0) {
      return fitted;
    }
    List<ChatMessage> noted = new ArrayList<>(List.of(UserMessage.from(LEFT_OUT.formatted(left))));
    noted.addAll(fitted);
    return noted;
  }

  /** The latest first; what the user last said, which began the turn, is next to that. */
  private Set<Integer> order() {
    List<Integer> latest =
        IntStream.iterate(units.size() - 1, place -> place >= 0, place -> place - 1)
            .boxed()
            .toList();
    Set<Integer> order = new LinkedHashSet<>(latest.subList(0, Math.min(1, latest.size())));
    latest.stream()
        .filter(place -> units.get(place).get(0) instanceof UserMessage)
        .limit(1)
        .forEach(order::add);
    order.addAll(latest);
    return order;
  }

  /** Null if it does not fit, also when it is shortened. */
  private @Nullable List<ChatMessage> fitted(List<ChatMessage> unit, boolean needed) {
    if (TokenEstimate.of(unit) <= room) {
      return unit;
    } else if (!needed && room / 2 < LEAST) {
      return null;
    }
    List<ChatMessage> shorter = shorter(unit, room / 2);
    return needed || TokenEstimate.of(shorter) <= room ? shorter : null;
  }

  // --- shorter messages ------------------------------------------------------------------------

  private static List<ChatMessage> shorter(List<ChatMessage> unit, int tokens) {
    int texts = unit.stream().mapToInt(RequestFit::texts).sum();
    int bytes = tokens * TokenEstimate.BYTES / Math.max(1, texts);
    return unit.stream().map(message -> shortened(message, bytes)).toList();
  }

  private static int texts(ChatMessage message) {
    return message instanceof AiMessage ai ? 1 + ai.toolExecutionRequests().size() : 1;
  }

  private static ChatMessage shortened(ChatMessage message, int bytes) {
    if (message instanceof UserMessage user) {
      return user.toBuilder().contents(shortened(user.contents(), bytes)).build();
    } else if (message instanceof ToolExecutionResultMessage result) {
      return result.toBuilder().contents(shortened(result.contents(), bytes)).build();
    } else if (message instanceof SystemMessage system) {
      return SystemMessage.from(shortened(system.text(), bytes));
    } else if (message instanceof AiMessage said) {
      String text = said.text();
      return said.toBuilder()
          .text(text == null ? null : shortened(text, bytes))
          .toolExecutionRequests(
              said.toolExecutionRequests().stream().map(call -> shortened(call, bytes)).toList())
          .build();
    }
    return message;
  }

  private static List<Content> shortened(List<Content> contents, int bytes) {
    List<Content> shorter = new ArrayList<>();
    for (Content content : contents) {
      shorter.add(
          content instanceof TextContent text
              ? TextContent.from(shortened(text.text(), bytes))
              : content);
    }
    return shorter;
  }

  /** Arguments that remain an object. */
  private static ToolExecutionRequest shortened(ToolExecutionRequest call, int bytes) {
    String shorter = shortened(call.arguments(), bytes);
    return shorter.equals(call.arguments())
        ? call
        : call.toBuilder()
            .arguments(JsonNodeFactory.instance.objectNode().put("shortened", shorter).toString())
            .build();
  }

  private static String shortened(String text, int bytes) {
    long size = TokenEstimate.bytes(text);
    if (size <= bytes) {
      return text;
    }
    String note = SHORTENED.formatted(text.length());
    int most = (int) (text.length() * (long) bytes / size) - note.length();
    return Excerpt.of(text, Math.max(1, most)) + note;
  }
}

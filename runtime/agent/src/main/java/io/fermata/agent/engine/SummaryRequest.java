package io.fermata.agent.engine;

import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.Compaction;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.state.ThreadFold;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What a model is asked for a summary: the summary before, and the oldest messages that no summary
 * covers, as many as its context holds. Long messages are shortened first; those that even then do
 * not fit are left to the next summary.
 *
 * @param upTo the last message that it contains
 */
record SummaryRequest(ChatRequest chat, String upTo) {
  /** Of a model that does not say how long a request may be. */
  private static final int MOST_TOKENS = 100_000;

  /** In bytes: half of what fits into a request, as its size is only estimated. */
  private static final long TOKEN = 2;

  /** In bytes: a message is not shortened further while fewer of them would do. */
  private static final int LEAST = 80;

  /** A message in the words of the request. */
  private record Line(String label, String content) {
    long size(long most) {
      return content.isEmpty() ? 0 : bytes(label) + Math.min(most, bytes(content)) + 1;
    }

    String text(long most) {
      return content.isEmpty() ? "" : label + beginning(content, most) + "\n";
    }
  }

  static SummaryRequest of(
      Compaction compaction,
      @Nullable String before,
      List<Message> old,
      Function<Message, String> label) {
    String instruction = compaction.instruction();
    long most = TOKEN * compaction.model().contextTokens().orElse(MOST_TOKENS);
    long room = Math.max(LEAST, most - bytes(instruction));
    String earlier = before == null ? "" : beginning(before, room / 2) + "\n\n";
    List<Line> lines = new ArrayList<>();
    for (Message message : old) {
      String content = message.content();
      lines.add(
          new Line(
              label.apply(message) + ": ",
              content == null || ThreadFold.blank(content) ? "" : content));
    }
    room -= bytes(earlier);
    int count = fitting(old, lines, room);
    List<Line> asked = lines.subList(0, count);
    long each = each(asked, room);
    StringBuilder text = new StringBuilder(earlier);
    asked.forEach(line -> text.append(line.text(each)));
    ChatRequest chat =
        ChatRequest.builder()
            .messages(SystemMessage.from(instruction), UserMessage.from(text.toString()))
            .build();
    return new SummaryRequest(chat, old.get(count - 1).id());
  }

  /** How many of the oldest messages fit, at least one; results stay with their calls. */
  private static int fitting(List<Message> old, List<Line> lines, long room) {
    int fits = 0;
    long size = 0;
    for (int next = 1; next <= lines.size(); next++) {
      size += lines.get(next - 1).size(LEAST);
      boolean parts = next < old.size() && old.get(next).role() == Role.TOOL;
      if (!parts && (size <= room || fits == 0)) {
        fits = next;
      }
      if (size > room && fits > 0) {
        break;
      }
    }
    return fits;
  }

  /** In bytes: how much of each message fits. */
  private static long each(List<Line> lines, long room) {
    if (size(lines, Long.MAX_VALUE) <= room) {
      return Long.MAX_VALUE;
    }
    long fair = (room - size(lines, 0)) / lines.size();
    return Math.max(fair, size(lines, LEAST) <= room ? LEAST : 0);
  }

  private static long size(List<Line> lines, long most) {
    return lines.stream().mapToLong(line -> line.size(most)).sum();
  }

  private static long bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  /** As much of the beginning of a text as has at most so many bytes. */
  private static String beginning(String text, long most) {
    if (bytes(text) <= most) {
      return text;
    }
    long room = most - bytes("…");
    int end = 0;
    while (true) {
      int next = text.offsetByCodePoints(end, 1);
      room -= bytes(text.substring(end, next));
      if (room < 0) {
        return text.substring(0, end) + "…";
      }
      end = next;
    }
  }
}

package io.fermata.agent.history;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The messages of a conversation, the latest first, back to one of them: up to a number, and up to
 * a size, but at least one.
 */
public final class MessagePage {
  private final int limit;
  private final long characters;
  private final Predicate<Message> shown;
  private final Predicate<Message> since;
  private final List<Message> messages = new ArrayList<>();
  private long size;
  private boolean complete;
  private boolean cut;

  /**
   * An empty page.
   *
   * @param limit how many messages it has at most
   * @param characters how many characters they have at most, if they are several
   * @param shown which messages it has
   * @param since the message that ends it, and is not in it
   */
  public MessagePage(
      int limit, long characters, Predicate<Message> shown, Predicate<Message> since) {
    this.limit = limit;
    this.characters = characters;
    this.shown = shown;
    this.since = since;
  }

  /** Adds the message before the others, if that is wanted and fits. */
  void add(Message message) {
    if (full()) {
      return;
    } else if (since.test(message)) {
      complete = true;
    } else if (shown.test(message)) {
      long more = characters(message);
      cut = messages.size() == limit || (!messages.isEmpty() && size + more > characters);
      if (!cut) {
        size += more;
        messages.add(message);
      }
    }
  }

  private static long characters(Message message) {
    String content = message.content();
    long characters = content == null ? 0 : content.length();
    for (RequestedCall call : message.toolCalls()) {
      characters += call.name().length() + call.function().arguments().length();
    }
    for (String path : message.attachments()) {
      characters += path.length();
    }
    JsonNode metadata = message.metadata();
    return characters + (metadata == null ? 0 : Json.text(metadata).length());
  }

  /** Whether it has all that it will have. */
  boolean full() {
    return complete || cut;
  }

  boolean isEmpty() {
    return messages.isEmpty();
  }

  /** The messages, the latest first. */
  public List<Message> messages() {
    return List.copyOf(messages);
  }

  /** The message before which the next page begins; null if there are no more. */
  public @Nullable String next() {
    return cut && !messages.isEmpty() ? messages.get(messages.size() - 1).id() : null;
  }
}

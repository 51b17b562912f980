package io.fermata.agent.state;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.model.Reasoning;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The latest messages of a thread, and a summary of those before them. The journal contains all of
 * them.
 *
 * @param count how many messages the thread has had at top level
 * @param last the time of the newest message, in microseconds of the epoch
 * @param summary a model's summary of the older ones; null if there is none
 * @param upTo the last message that the summary covers
 * @param since how many messages have come since
 * @param turn how many of the latest messages belong to the current turn, including the one that
 *     started it; they are kept regardless of the window
 * @param reasoning what providers want back with the calls of the current turn, by message
 */
public record History(
    List<Message> messages,
    int window,
    long count,
    long last,
    @Nullable String summary,
    @Nullable String upTo,
    int since,
    int turn,
    Map<String, Reasoning> reasoning) {

  /** The maximum length of a turn before its start is dropped. */
  private static final int LONGEST_TURN = 1_024;

  /** How much of the reasoning is kept, in characters; the oldest is dropped. */
  private static final int MOST_REASONING = 1024 * 1024;

  /** How many messages beyond the window are kept, to copy rarely. */
  private static final int SLACK = 16;

  public History {
    messages = Collections.unmodifiableList(messages);
    reasoning = reasoning == null ? Map.of() : Collections.unmodifiableMap(reasoning);
  }

  static History empty(int window) {
    return new History(List.of(), window, 0, 0, null, null, 0, 0, Map.of());
  }

  History widened(int newWindow) {
    return new History(messages, newWindow, count, last, summary, upTo, since, turn, reasoning);
  }

  /** Adds a message at the end, or before one that is still kept. */
  History plus(Message message, @Nullable String before) {
    int place = before == null ? -1 : indexOf(before);
    Message placed = timed(message, before);
    int keep = Math.max(window, turn + 1);
    int drop = messages.size() - SLACK >= keep ? messages.size() - keep + 1 : 0;
    List<Message> all = new ArrayList<>(messages.size() + 1 - drop);
    all.addAll(messages.subList(drop, messages.size()));
    if (place < 0) {
      all.add(placed);
    } else {
      all.add(Math.max(0, place - drop), placed);
    }
    return new History(
        all,
        window,
        count + 1,
        Math.max(last, placed.createdAt()),
        summary,
        upTo,
        since + 1,
        Math.min(LONGEST_TURN, turn + 1),
        reasoning);
  }

  /** With what a provider wants back with the calls of a message. */
  History reasoned(String id, Reasoning by) {
    LinkedHashMap<String, Reasoning> all = new LinkedHashMap<>(reasoning);
    all.put(id, by);
    int size = all.values().stream().mapToInt(Reasoning::size).sum();
    Iterator<Reasoning> oldest = all.values().iterator();
    while (size > MOST_REASONING) {
      size -= oldest.next().size();
      oldest.remove();
    }
    return reasoned(all);
  }

  private History reasoned(Map<String, Reasoning> all) {
    return new History(messages, window, count, last, summary, upTo, since, turn, all);
  }

  /** The reasoning of messages that the other side has not replied to. */
  private Map<String, Reasoning> recent() {
    if (reasoning.isEmpty()) {
      return reasoning;
    }
    LinkedHashMap<String, Reasoning> recent = new LinkedHashMap<>(reasoning);
    Set<Role> later = EnumSet.noneOf(Role.class);
    Set<String> known = new HashSet<>();
    for (int i = messages.size() - 1; i >= 0 && !recent.isEmpty(); i--) {
      Message message = messages.get(i);
      if (later.contains(message.role() == Role.USER ? Role.ASSISTANT : Role.USER)) {
        recent.remove(message.id());
      }
      later.add(message.role());
      known.add(message.id());
    }
    recent.keySet().retainAll(known);
    return recent;
  }

  /** Without the messages. */
  History outline() {
    return new History(List.of(), window, count, last, null, null, since, turn, Map.of());
  }

  /** The message with the time that it has at the end, or before another one. */
  public Message timed(Message message, @Nullable String before) {
    int place = before == null ? -1 : indexOf(before);
    return message.at(
        place < 0 ? Math.max(message.createdAt(), last + 1) : messages.get(place).createdAt() - 1);
  }

  History changed(String id, UnaryOperator<Message> change) {
    int place = indexOf(id);
    if (place < 0) {
      return this;
    }
    List<Message> all = new ArrayList<>(messages);
    all.set(place, change.apply(all.get(place)));
    return new History(
        List.copyOf(all), window, count, last, summary, upTo, since, turn, reasoning);
  }

  History without(String id) {
    int place = indexOf(id);
    if (place < 0) {
      return this;
    }
    List<Message> all = new ArrayList<>(messages);
    all.remove(place);
    return new History(
        List.copyOf(all),
        window,
        count - 1,
        last,
        summary,
        upTo,
        Math.max(0, since - 1),
        Math.max(0, turn - 1),
        reasoning);
  }

  /** Summarizes everything up to and including a message. */
  History compacted(String newSummary, String newUpTo) {
    int rest = messages.size() - 1 - indexOf(newUpTo);
    return new History(messages, window, count, last, newSummary, newUpTo, rest, turn, reasoning);
  }

  /** Postpones the next summary. */
  History notCompacted() {
    return new History(messages, window, count, last, summary, upTo, 0, turn, reasoning);
  }

  /** A turn starts with the last message; results stay with their calls. */
  History turned() {
    int begin = messages.size() - 1;
    while (begin > 0 && messages.get(begin).role() == Role.TOOL) {
      begin--;
    }
    int begun = messages.size() - Math.max(0, begin);
    return new History(messages, window, count, last, summary, upTo, since, begun, recent());
  }

  public @Nullable Message message(String id) {
    int place = indexOf(id);
    return place < 0 ? null : messages.get(place);
  }

  /** The latest messages that no summary covers: at most this many, or the whole current turn. */
  public List<Message> tail(int most) {
    int from = upTo == null ? 0 : indexOf(upTo) + 1;
    int shown = messages.size() - Math.max(most, turn);
    return messages.subList(Math.max(from, shown), messages.size());
  }

  /** How many of those are older than the latest {@code keep}; results stay with their calls. */
  public int old(int keep) {
    List<Message> all = tail(Integer.MAX_VALUE);
    int old = Math.max(0, all.size() - keep);
    while (old > 0 && all.get(old).role() == Role.TOOL) {
      old--;
    }
    return old;
  }

  /** The messages that came after so many. */
  public List<Message> after(long earlier) {
    long later = Math.max(0, Math.min(messages.size(), count - earlier));
    return messages.subList(messages.size() - (int) later, messages.size());
  }

  /** Whether there are messages that are neither kept here nor covered by a summary. */
  public boolean hasGap() {
    return upTo == null ? count > messages.size() : indexOf(upTo) < 0;
  }

  private int indexOf(String id) {
    for (int i = messages.size() - 1; i >= 0; i--) {
      if (messages.get(i).id().equals(id)) {
        return i;
      }
    }
    return -1;
  }
}

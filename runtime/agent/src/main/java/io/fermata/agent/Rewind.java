package io.fermata.agent;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the messages of a thread from its journal, the latest first, and no more of it than is
 * wanted. It is given the journal's records from the last to the first.
 */
public final class Rewind {
  private final @Nullable String before;
  private final int limit;
  private final int depth;
  private final boolean silent;
  private static final Pattern CALL = Pattern.compile("(s\\d+)\\.(\\d+)");

  private final List<Slot> slots = new ArrayList<>();
  private final Map<String, NavigableMap<Integer, Slot>> results = new HashMap<>();
  private final Map<String, List<MessageUpdate>> updates = new HashMap<>();
  private final Map<String, List<Message>> preceding = new HashMap<>();
  private final Map<String, List<ToolCall>> queued = new HashMap<>();
  private final Set<String> struck = new HashSet<>();
  private @Nullable Slot boundary;
  private int listed;

  /** The place of a message; without one where none is to be listed. */
  private static final class Slot {
    private @Nullable Message message;
  }

  /**
   * Nothing is read yet.
   *
   * @param before the message before which to begin; null for the end
   * @param depth the deepest messages to be listed; 0 for the conversation alone
   * @param silent whether to list those that people are not shown
   */
  public Rewind(@Nullable String before, int limit, int depth, boolean silent) {
    this.before = before;
    this.limit = limit;
    this.depth = depth;
    this.silent = silent;
  }

  /** Whether as many messages are found as were wanted. */
  public boolean full() {
    return listed >= limit && preceding.isEmpty() && results.isEmpty();
  }

  /** The messages found so far, the latest first. */
  public List<Message> messages() {
    return slots.stream()
        .map(slot -> slot.message)
        .filter(Objects::nonNull)
        .map(Message.class::cast)
        .limit(limit)
        .toList();
  }

  /** The next earlier record of the journal. */
  public void take(List<ThreadEvent> record) {
    for (int i = record.size() - 1; i >= 0; i--) {
      take(record.get(i));
    }
  }

  private void take(ThreadEvent event) {
    if (event instanceof ThreadEvent.Updated updated) {
      updates.computeIfAbsent(updated.messageId(), id -> new ArrayList<>()).add(updated.update());
    } else if (event instanceof ThreadEvent.CallStruck gone) {
      struck.add(gone.call());
      result(gone.call(), null);
    } else if (event instanceof ThreadEvent.Queued call && call.frame() == null) {
      return;
    } else if (event instanceof ThreadEvent.Queued call) {
      queued.computeIfAbsent(call.frame(), frame -> new ArrayList<>()).add(0, call.call());
    } else if (event instanceof ThreadEvent.CallEnded ended) {
      result(ended.call(), ended.message());
    } else if (event instanceof ThreadEvent.StepEnded ended) {
      said(ended);
    } else if (event instanceof ThreadEvent.StepFailed failed && failed.message() != null) {
      add(failed.message());
    } else if (event instanceof ThreadEvent.Said said) {
      said(said);
    } else if (event instanceof ThreadEvent.Taken taken) {
      add(taken.message());
    } else if (event instanceof ThreadEvent.FrameOpened opened) {
      opened(opened);
    }
  }

  private void said(ThreadEvent.StepEnded ended) {
    List<ToolCall> calls = new ArrayList<>();
    for (int i = 0; i < ended.calls().size(); i++) {
      if (!struck.contains(ended.log().id() + "." + i)) {
        calls.add(ended.calls().get(i));
      }
    }
    List<ToolCall> more = queued.remove(ended.frame());
    if (more != null) {
      more.stream().filter(call -> !struck.contains(call.id())).forEach(calls::add);
    }
    results.remove(ended.log().id());
    Message message = ended.message().withToolCalls(calls);
    boolean kept = !calls.isEmpty() || !ThreadFold.blank(message.content());
    add(message, kept, slots.size());
  }

  /**
   * A result came into the conversation when those of the calls before it were there, too: after
   * them, however early its call ended.
   */
  private void result(String call, @Nullable Message message) {
    Matcher named = CALL.matcher(call);
    int at = slots.size();
    if (named.matches()) {
      NavigableMap<Integer, Slot> step =
          results.computeIfAbsent(named.group(1), id -> new TreeMap<>());
      int number = Integer.parseInt(named.group(2));
      Map.Entry<Integer, Slot> earlier = step.lowerEntry(number);
      at = earlier == null ? at : slots.indexOf(earlier.getValue());
      step.put(number, message == null ? place(null, at) : add(message, true, at));
    } else if (message != null) {
      add(message);
    }
  }

  private void said(ThreadEvent.Said said) {
    String target = said.before();
    if (target == null) {
      add(said.message());
    } else {
      preceding.computeIfAbsent(target, id -> new ArrayList<>()).add(said.message());
    }
  }

  private void opened(ThreadEvent.FrameOpened opened) {
    List<ToolCall> calls = queued.remove(opened.frame());
    String asking = opened.messageId();
    if (calls != null && asking != null) {
      queued.put(asking, calls);
    }
    for (int i = opened.said().size() - 1; i >= 0; i--) {
      add(opened.said().get(i));
    }
  }

  private void add(Message message) {
    List<ToolCall> calls = queued.remove(message.id());
    if (calls == null) {
      add(message, true, slots.size());
      return;
    }
    List<ToolCall> left = calls.stream().filter(call -> !struck.contains(call.id())).toList();
    boolean kept = !left.isEmpty() || !ThreadFold.blank(message.content());
    add(message.withToolCalls(left), kept, slots.size());
  }

  private Slot add(Message message, boolean kept, int at) {
    Slot slot = place(kept ? updated(message) : null, at);
    List<Message> earlier = preceding.remove(message.id());
    if (earlier != null) {
      int next = at + 1;
      for (Message inserted : earlier) {
        int all = slots.size();
        add(inserted, true, next);
        next += slots.size() - all;
      }
    }
    return slot;
  }

  private Message updated(Message message) {
    Message now = message;
    List<MessageUpdate> changes = updates.remove(message.id());
    for (int i = changes == null ? -1 : changes.size() - 1; i >= 0 && changes != null; i--) {
      now = changes.get(i).of(now);
    }
    return now;
  }

  private Slot place(@Nullable Message message, int at) {
    Slot slot = new Slot();
    boolean older =
        before == null
            || (boundary != null && (at == slots.size() || at > slots.indexOf(boundary)));
    slots.add(at, slot);
    if (message != null && message.id().equals(before)) {
      boundary = slot;
    } else if (message != null
        && older
        && message.depth() <= depth
        && (silent || !message.silent())) {
      slot.message = message;
      listed++;
    }
    return slot;
  }
}

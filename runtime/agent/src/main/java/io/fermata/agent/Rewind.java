package io.fermata.agent;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
  private final List<Message> found = new ArrayList<>();
  private final Map<String, List<MessageUpdate>> updates = new HashMap<>();
  private final Map<String, List<Message>> preceding = new HashMap<>();
  private final Map<String, List<ToolCall>> queued = new HashMap<>();
  private final Set<String> struck = new HashSet<>();
  private boolean begun;

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
    this.begun = before == null;
  }

  /** Whether as many messages are found as were wanted. */
  public boolean full() {
    return found.size() >= limit && preceding.isEmpty();
  }

  /** The messages found so far, the latest first. */
  public List<Message> messages() {
    return List.copyOf(found.subList(0, Math.min(limit, found.size())));
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
    } else if (event instanceof ThreadEvent.Queued call) {
      queued.computeIfAbsent(call.frame(), frame -> new ArrayList<>()).add(0, call.call());
    } else if (event instanceof ThreadEvent.CallEnded ended) {
      add(ended.message());
    } else if (event instanceof ThreadEvent.StepEnded ended) {
      said(ended);
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
    Message message = ended.message().withToolCalls(calls);
    if (!calls.isEmpty() || !ThreadFold.blank(message.content())) {
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
    Message now = message;
    List<ToolCall> calls = queued.remove(message.id());
    if (calls != null) {
      now = now.withToolCalls(calls.stream().filter(call -> !struck.contains(call.id())).toList());
      if (now.toolCalls().isEmpty() && ThreadFold.blank(now.content())) {
        return;
      }
    }
    List<MessageUpdate> changes = updates.remove(message.id());
    for (int i = changes == null ? -1 : changes.size() - 1; i >= 0 && changes != null; i--) {
      now = changes.get(i).of(now);
    }
    list(now);
    List<Message> earlier = preceding.remove(message.id());
    if (earlier != null) {
      earlier.forEach(this::add);
    }
  }

  private void list(Message message) {
    if (begun && message.depth() <= depth && (silent || !message.silent())) {
      found.add(message);
    }
    begun |= message.id().equals(before);
  }
}

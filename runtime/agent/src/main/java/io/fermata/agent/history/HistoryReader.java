package io.fermata.agent.history;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the messages of a thread from its journal, the latest first, and no further back than
 * needed. It takes the entries of the journal from the last to the first.
 */
public final class HistoryReader implements BackwardReader {
  private final @Nullable String before;
  private final int depth;
  private final MessagePage page;
  private final Map<String, List<MessageUpdate>> updates = new HashMap<>();
  private final Map<String, List<Message>> preceding = new HashMap<>();
  private final Map<String, List<RequestedCall>> queued = new HashMap<>();
  private final Set<String> struck = new HashSet<>();
  private final List<Item> unplaced = new ArrayList<>();
  private boolean begun;

  /**
   * A message after the calls of a step; results are in the order of the calls.
   *
   * @param call the call that this is the result of; null if it is no result
   * @param message null if the call was struck out
   */
  private record Item(@Nullable String call, @Nullable Message message) {}

  /**
   * A reader that has read nothing yet, of so many messages, whatever their size, silent ones
   * included.
   *
   * @param before the message before which to begin; null for the end
   * @param depth the maximum depth; 0 for the conversation only
   */
  public HistoryReader(@Nullable String before, int limit, int depth) {
    this(before, depth, new MessagePage(limit, Long.MAX_VALUE, message -> true, message -> false));
  }

  /**
   * A reader that has read nothing yet.
   *
   * @param before the message before which to begin; null for the end
   * @param depth the maximum depth; 0 for the conversation only
   * @param page what it fills
   */
  public HistoryReader(@Nullable String before, int depth, MessagePage page) {
    this.before = before;
    this.depth = depth;
    this.page = page;
    this.begun = before == null;
  }

  /** Whether it has found the message before which to begin. */
  public boolean begun() {
    return begun;
  }

  /** Whether it has found enough messages. */
  @Override
  public boolean full() {
    return page.full();
  }

  /** Whether it holds messages that it has read. */
  public boolean holdsMessages() {
    return !page.isEmpty() || !unplaced.isEmpty() || !preceding.isEmpty();
  }

  /** The messages found so far, the latest first. */
  public List<Message> messages() {
    return page.messages();
  }

  @Override
  public void take(List<ThreadEvent> entry) {
    for (int i = entry.size() - 1; i >= 0; i--) {
      take(entry.get(i));
    }
  }

  private void take(ThreadEvent event) {
    if (event instanceof ThreadEvent.Updated updated) {
      updates.computeIfAbsent(updated.messageId(), id -> new ArrayList<>()).add(updated.update());
    } else if (event instanceof ThreadEvent.CallRemoved gone) {
      struck.add(gone.call());
      unplaced.add(new Item(gone.call(), null));
    } else if (event instanceof ThreadEvent.Queued call) {
      queued.computeIfAbsent(frame(call), frame -> new ArrayList<>()).add(0, call.call());
    } else if (event instanceof ThreadEvent.CallEnded ended && ended.late()) {
      place(ended.message());
    } else if (event instanceof ThreadEvent.CallDetached detached) {
      unplaced.add(new Item(detached.call(), detached.message()));
    } else if (event instanceof ThreadEvent.CallEnded ended) {
      unplaced.add(new Item(ended.call(), ended.message()));
    } else if (event instanceof ThreadEvent.StepEnded ended) {
      said(ended);
    } else if (event instanceof ThreadEvent.StepFailed failed && failed.message() != null) {
      place(failed.message());
    } else if (event instanceof ThreadEvent.Said said) {
      said(said);
    } else if (event instanceof ThreadEvent.Taken taken) {
      place(taken.message());
    } else if (event instanceof ThreadEvent.FrameOpened opened) {
      opened(opened);
    }
  }

  /** The frame that a call was queued in; a waiting call is in none. */
  private static String frame(ThreadEvent.Queued call) {
    return String.valueOf(call.frame());
  }

  private void said(ThreadEvent.StepEnded ended) {
    List<RequestedCall> calls = new ArrayList<>();
    List<String> order = new ArrayList<>();
    for (int i = 0; i < ended.calls().size(); i++) {
      String key = ended.log().id() + "." + i;
      order.add(key);
      if (!struck.contains(key)) {
        calls.add(ended.calls().get(i));
      }
    }
    List<RequestedCall> more = queued.remove(ended.frame());
    if (more != null) {
      more.forEach(call -> order.add(call.id()));
      more.stream().filter(call -> !struck.contains(call.id())).forEach(calls::add);
    }
    settle(order, ended.message().createdAt());
    Message message = ended.message().withToolCalls(calls);
    if (!calls.isEmpty() || !ThreadFold.blank(message.content())) {
      place(message);
    }
  }

  /** Sorts the results of a step's calls into the order of the conversation. */
  private void settle(List<String> order, long began) {
    List<Item> placed = new ArrayList<>();
    Map<String, Item> over = new HashMap<>();
    long last = began;
    int next = 0;
    for (int i = unplaced.size() - 1; i >= 0; i--) {
      Item item = unplaced.get(i);
      String call = item.call();
      if (call == null || !order.contains(call)) {
        placed.add(item);
        last = Math.max(last, time(item));
        continue;
      }
      over.put(call, item);
      for (; next < order.size() && over.containsKey(order.get(next)); next++) {
        Item ready = over.get(order.get(next));
        Message result = ready == null ? null : ready.message();
        if (result != null) {
          Message timed =
              result.depth() > 0 ? result : result.at(Math.max(result.createdAt(), last + 1));
          placed.add(new Item(null, timed));
          last = Math.max(last, time(placed.get(placed.size() - 1)));
        }
      }
    }
    unplaced.clear();
    for (int i = placed.size() - 1; i >= 0; i--) {
      unplaced.add(placed.get(i));
    }
    if (unplaced.stream().allMatch(item -> item.call() == null)) {
      List<Item> all = List.copyOf(unplaced);
      unplaced.clear();
      all.stream().map(Item::message).forEach(message -> add(Objects.requireNonNull(message)));
    }
  }

  private static long time(Item item) {
    Message message = item.message();
    return message == null || message.depth() > 0 ? 0 : message.createdAt();
  }

  private void place(Message message) {
    if (unplaced.isEmpty()) {
      add(message);
    } else {
      unplaced.add(new Item(null, message));
    }
  }

  private void said(ThreadEvent.Said said) {
    String target = said.before();
    if (target == null) {
      place(said.message());
    } else {
      preceding.computeIfAbsent(target, id -> new ArrayList<>()).add(said.message());
    }
  }

  private void opened(ThreadEvent.FrameOpened opened) {
    List<RequestedCall> calls = queued.remove(opened.frame());
    String asking = opened.messageId();
    if (calls != null && asking != null) {
      queued.put(asking, calls);
      settle(calls.stream().map(RequestedCall::id).toList(), 0);
    }
    for (int i = opened.said().size() - 1; i >= 0; i--) {
      place(opened.said().get(i));
    }
  }

  private void add(Message message) {
    Message now = message;
    List<RequestedCall> calls = queued.remove(message.id());
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
    if (begun && message.depth() <= depth) {
      page.add(message);
    }
    begun |= message.id().equals(before);
  }
}

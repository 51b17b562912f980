package io.fermata.session.thread;

import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.Entry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A subscription to a thread: delivers journaled events from a position on, on demand. Events that
 * are not requested yet stay in the journal, so nothing piles up: of small entries it keeps those
 * that it has read, and reads large ones again.
 */
public final class ThreadFeed implements Threads.Feed, SessionSubscriptions.Subscriber {
  /** The most entries per read. */
  private static final int PAGE = 32;

  private static final int FIRST_PAGE = 4;

  /** Reads the entries of a journal. */
  public interface Journal {
    void read(long from, int max, Received received);
  }

  /**
   * The entries that were read.
   *
   * @param large whether there are fewer than wanted, or just one, because of their size
   */
  public record Read(List<Entry<ThreadEvent>> entries, boolean large) {}

  /** Receives the entries. */
  public interface Received {
    void records(@Nullable Read read, @Nullable Throwable failed);
  }

  private record Item(long seq, int index, long at, ThreadEvent event) {}

  private record Awaited(long seq, CompletableFuture<@Nullable Void> delivered) {}

  private final String entityId;
  private final Threads.Listener listener;
  private final Journal journal;
  private final SessionSubscriptions subscriptions;
  private final Executor executor;
  private final Deque<Runnable> tasks = new ArrayDeque<>();
  private final Deque<Item> ready = new ArrayDeque<>();
  private final List<Awaited> awaited = new ArrayList<>();
  private boolean running;
  private boolean over;
  private boolean reading;

  /** Whether entries, or the end, may have come without a notification since a read began. */
  private boolean uncertain = true;

  /** How many entries to read next. */
  private int page = FIRST_PAGE;

  /** Whether what was read last is too large to be kept until it is requested. */
  private boolean large;

  private long nextSeq;
  private int skip;
  private long newest;
  private boolean caughtUp;
  private boolean ends;
  private int demand;

  /**
   * @param seq the entry, and
   * @param index the event in it after which to start
   */
  public ThreadFeed(
      String entityId,
      long seq,
      int index,
      Threads.Listener listener,
      Journal journal,
      SessionSubscriptions subscriptions,
      Executor executor) {
    this.entityId = entityId;
    this.nextSeq = Math.max(1, seq);
    this.skip = seq < 1 ? 0 : index + 1;
    this.listener = listener;
    this.journal = journal;
    this.subscriptions = subscriptions;
    this.executor = executor;
  }

  @Override
  public void request(int events) {
    in(
        () -> {
          demand = (int) Math.min(Integer.MAX_VALUE, (long) demand + Math.max(0, events));
          pump();
        });
  }

  @Override
  public CompletionStage<@Nullable Void> deliveredUpTo(long offset) {
    Awaited wanted = new Awaited(offset, new CompletableFuture<>());
    in(
        () -> {
          awaited.add(wanted);
          settleAwaited();
        });
    return wanted.delivered();
  }

  @Override
  public void close() {
    subscriptions.remove(entityId, this);
    in(this::finish);
  }

  @Override
  @SuppressWarnings("unchecked") // the entries of a thread
  public void persisted(Entry<?> entry, boolean last) {
    List<ThreadEvent> events = (List<ThreadEvent>) entry.events();
    if (last) {
      deleted(entry.seq(), entry.at(), events);
    } else {
      journaled(entry.seq(), entry.at(), events);
    }
  }

  @Override
  public void missed() {
    in(
        () -> {
          caughtUp = false;
          uncertain = true;
          pump();
        });
  }

  private void journaled(long seq, long at, List<ThreadEvent> events) {
    in(
        () -> {
          if (demand > 0 && caughtUp && seq == nextSeq && ready.isEmpty() && !reading) {
            add(seq, at, events);
          }
          newest = Math.max(newest, seq);
          pump();
        });
  }

  /**
   * The last entry, after which the journal is erased. Unread entries are lost, so the end is
   * delivered at once, requested or not.
   */
  private void deleted(long seq, long at, List<ThreadEvent> events) {
    subscriptions.remove(entityId, this);
    in(
        () -> {
          if (over) {
            return;
          }
          if (seq >= nextSeq) {
            skip = seq == nextSeq ? skip : 0;
            add(seq, at, events);
          }
          demand = ready.size();
          ends = true;
          caughtUp = true;
          pump();
          finish();
          listener.ended(null);
        });
  }

  /** Streamed text is only delivered if all events before it are. */
  @Override
  public void streamed(MessageDelta delta) {
    in(
        () -> {
          if (caughtUp && ready.isEmpty() && !reading && newest < nextSeq) {
            listener.streamed(delta);
          }
        });
  }

  @Override
  public void ended(@Nullable Throwable why) {
    subscriptions.remove(entityId, this);
    in(
        () -> {
          finish();
          listener.ended(why);
        });
  }

  private void add(long seq, long at, List<ThreadEvent> events) {
    for (int i = skip; i < events.size(); i++) {
      ready.add(new Item(seq, i, at, events.get(i)));
    }
    skip = 0;
    nextSeq = seq + 1;
  }

  private void finish() {
    over = true;
    settleAwaited();
  }

  private void settleAwaited() {
    Item next = ready.peek();
    long pending = next == null ? nextSeq : next.seq();
    List<Awaited> settled =
        awaited.stream().filter(wanted -> over || wanted.seq() < pending).toList();
    awaited.removeAll(settled);
    settled.forEach(wanted -> wanted.delivered().complete(null));
  }

  private void pump() {
    while (!over && demand > 0 && !ready.isEmpty()) {
      Item item = ready.remove();
      demand--;
      listener.happened(item.seq(), item.index(), item.at(), item.event());
      demand = ends || listener.takesMore() ? demand : 0;
    }
    if (!over && large && !ready.isEmpty()) {
      leaveInJournal();
    }
    settleAwaited();
    if (!over && demand > 0 && !reading && (!caughtUp || nextSeq <= newest)) {
      // A journal that exists has the entry before.
      long from = uncertain ? Math.max(1, nextSeq - 1) : nextSeq;
      boolean finds = uncertain || nextSeq <= newest;
      reading = true;
      uncertain = false;
      int most = page;
      journal.read(from, most, (read, failed) -> in(() -> received(read, most, failed, finds)));
    }
  }

  private void leaveInJournal() {
    Item next = ready.element();
    newest = Math.max(newest, ready.getLast().seq());
    nextSeq = next.seq();
    skip = next.index();
    ready.clear();
  }

  /**
   * @param finds whether a journal that is not erased has entries there
   */
  private void received(@Nullable Read read, int most, @Nullable Throwable failed, boolean finds) {
    reading = false;
    if (over) {
      return;
    } else if (read == null) {
      ended(failed);
      return;
    }
    List<Entry<ThreadEvent>> entries = read.entries();
    if (entries.isEmpty() && finds) {
      ended(null);
      return;
    }
    large = read.large();
    page = large ? Math.max(1, entries.size()) : Math.min(PAGE, 2 * most);
    for (Entry<ThreadEvent> entry : entries) {
      if (entry.seq() >= nextSeq) {
        add(entry.seq(), entry.at(), entry.events());
      }
    }
    caughtUp |= !large && entries.size() < most && !uncertain;
    pump();
  }

  /** A listener that throws is unsubscribed. */
  private void failed(Throwable thrown) {
    if (!over) {
      over = true;
      ended(thrown);
    }
  }

  /** Runs tasks one after the other, on any thread. */
  private void in(Runnable task) {
    synchronized (tasks) {
      tasks.add(task);
      if (running) {
        return;
      }
      running = true;
    }
    executor.execute(this::work);
  }

  private void work() {
    while (true) {
      Runnable task;
      synchronized (tasks) {
        task = tasks.poll();
        if (task == null) {
          running = false;
          return;
        }
      }
      try {
        task.run();
      } catch (Throwable e) { // an Error of a listener must not stop the feed silently
        failed(e);
      }
    }
  }
}

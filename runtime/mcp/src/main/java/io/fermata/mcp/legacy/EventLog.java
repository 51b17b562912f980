package io.fermata.mcp.legacy;

import io.fermata.mcp.http.SseWriter;
import io.fermata.mcp.http.StreamLog;
import io.vertx.core.Context;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The latest events of one response, kept for a client whose connection breaks: it reconnects with
 * the id of the last event that it received, and receives the rest. Thread-safe.
 */
final class EventLog implements StreamLog {
  /**
   * How many bytes of events are kept, in addition to the latest event and to those that the client
   * has not received yet.
   */
  static final int ROOM = 64_000;

  /** A response that receives the rest. */
  interface Listener {
    /** There are more events, or the stream has ended. */
    void wake();

    /** Another response has replaced this one. */
    void replaced();

    /** Ends the response; the client may resume again. */
    void release();
  }

  private static final class Entry {
    private final long number;
    private final byte[] event;

    Entry(long number, byte[] event) {
      this.number = number;
      this.event = event;
    }
  }

  private final String id;
  private final Runnable forget;
  private final Runnable lost;
  private final Deque<Entry> events = new ArrayDeque<>();
  private int bytes;
  private long last;
  private long received;
  private boolean ended;
  private boolean expired;
  private int resumptions;
  private @Nullable Listener listener;
  private Runnable whenResumed = () -> {};

  /**
   * @param forget what to do when it is no longer needed
   * @param lost what else to do if the client does not resume
   */
  EventLog(String id, Runnable forget, Runnable lost) {
    this.id = id;
    this.forget = forget;
    this.lost = lost;
  }

  @Override
  public byte[] opening(long after) {
    return "id: %s.%s\nretry: 1000\ndata: \n\n"
        .formatted(id, after)
        .getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public byte[] append(byte[] message, boolean live) {
    byte[] event = store(message, live);
    wake();
    return event;
  }

  private synchronized byte[] store(byte[] message, boolean live) {
    last++;
    byte[] event = SseWriter.event(message, id + "." + last);
    if (live) {
      received = last;
    }
    // While no client is connected, it is not known which of the latest events arrived.
    boolean there = live || listener != null;
    while (there && bytes > ROOM && events.element().number <= received) {
      bytes -= events.remove().event.length;
    }
    events.add(new Entry(last, event));
    bytes += event.length;
    return event;
  }

  @Override
  public void end() {
    synchronized (this) {
      ended = true;
    }
    wake();
  }

  private void wake() {
    Listener woken;
    synchronized (this) {
      woken = listener;
    }
    if (woken != null) {
      woken.wake();
    }
  }

  @Override
  public synchronized boolean hasRoom() {
    Entry first = events.peek();
    return first == null || (listener != null && first.number <= received) || bytes < ROOM / 2;
  }

  @Override
  public synchronized boolean resumed() {
    return resumptions > 0;
  }

  @Override
  public synchronized void onResume(Runnable todo) {
    whenResumed = todo;
  }

  @Override
  public void release() {
    Listener current;
    synchronized (this) {
      current = listener;
    }
    if (current != null) {
      current.release();
    }
  }

  @Override
  public synchronized boolean expired() {
    return expired;
  }

  /** Whether the client has received everything, up to the end. */
  synchronized boolean fullyReceived() {
    return ended && received == last;
  }

  /** Whether the stream ends for a client that has received everything up to a number. */
  synchronized boolean completedAt(long number) {
    received = Math.max(received, number);
    return ended && number == last;
  }

  /** The events after a number; null if some of them are no longer kept. */
  synchronized @Nullable List<byte[]> after(long number) {
    long first = events.isEmpty() ? last + 1 : events.element().number;
    if (number < first - 1 || number > last) {
      return null;
    }
    List<byte[]> rest = new ArrayList<>();
    events.stream().filter(each -> each.number > number).forEach(each -> rest.add(each.event));
    return rest;
  }

  /**
   * Sends a client the events after a number, and all that follow.
   *
   * @return false if the log has expired in the meantime
   */
  boolean listen(Listener newcomer, long number) {
    Listener before;
    Runnable resumed;
    synchronized (this) {
      if (expired || after(number) == null) {
        return false;
      }
      resumptions++;
      before = listener;
      listener = newcomer;
      received = number;
      resumed = whenResumed;
    }
    if (before != null) {
      before.replaced();
    }
    newcomer.wake();
    resumed.run();
    return true;
  }

  /**
   * A client has disconnected, or has received everything. Returns the mark for {@link #expire} if
   * it does not resume.
   */
  synchronized int disconnected(@Nullable Listener leaving) {
    if (listener == leaving) {
      listener = null;
    }
    return listener == null ? resumptions : -1;
  }

  @Override
  public void await(Context context) {
    await(context, null);
  }

  /** Begins the time in which a client that has disconnected may resume. */
  void await(Context context, @Nullable Listener leaving) {
    int mark = disconnected(leaving);
    context.owner().setTimer(EventLogs.GRACE.toMillis(), late -> expire(mark));
  }

  /** Forgets the log if the client has not resumed since the mark. */
  void expire(int mark) {
    boolean gone;
    synchronized (this) {
      gone = !expired && resumptions == mark && listener == null;
      expired |= gone;
    }
    if (gone) {
      forget.run();
      lost.run();
    }
  }
}

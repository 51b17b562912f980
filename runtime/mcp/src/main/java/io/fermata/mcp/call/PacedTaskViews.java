package io.fermata.mcp.call;

import io.fermata.mcp.protocol.OutboundQueue;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Runs the task views of one subscription one after the other, and only while there is room for
 * their notifications. A slow client gets the latest state, later.
 */
final class PacedTaskViews {
  private final OutboundQueue queue;
  private final Deque<Runnable> waiting = new ArrayDeque<>();
  private boolean busy;

  PacedTaskViews(OutboundQueue queue) {
    this.queue = queue;
  }

  /** Enqueues a view, which calls {@link #finished} when it is done. */
  void enqueue(Runnable view) {
    synchronized (this) {
      waiting.add(view);
    }
    runNext();
  }

  /** A view is done, and its notification is queued. */
  void finished() {
    synchronized (this) {
      busy = false;
    }
    runNext();
  }

  private void runNext() {
    Runnable next = next();
    if (next != null) {
      queue.onRoom(next);
    }
  }

  private synchronized @Nullable Runnable next() {
    if (busy || waiting.isEmpty()) {
      return null;
    }
    busy = true;
    return waiting.remove();
  }
}

package io.fermata.mcp;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Runs the views of what one client subscribed to one after the other, and only while there is room
 * for their notifications. A slow client gets the latest state, later.
 */
final class Looks {
  private final Progress way;
  private final Deque<Runnable> waiting = new ArrayDeque<>();
  private boolean busy;

  Looks(Progress way) {
    this.way = way;
  }

  /** Enqueues a view, which calls {@link #over} when it is done. */
  void take(Runnable look) {
    synchronized (this) {
      waiting.add(look);
    }
    go();
  }

  /** A view is done, and its notification is queued. */
  void over() {
    synchronized (this) {
      busy = false;
    }
    go();
  }

  private void go() {
    Runnable next = next();
    if (next != null) {
      way.whenRoom(next);
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

package io.fermata.mcp;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The looks at what one client listens to: one follows the other, and only when there is room to
 * tell what it finds. A client that reads slowly is told later, and of the latest.
 */
final class Looks {
  private final Progress way;
  private final Deque<Runnable> waiting = new ArrayDeque<>();
  private boolean busy;

  Looks(Progress way) {
    this.way = way;
  }

  /** Has somebody look in its turn, who says when that is {@link #over}. */
  void take(Runnable look) {
    synchronized (this) {
      waiting.add(look);
    }
    go();
  }

  /** A look is over, and told if there was anything to tell. */
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

package io.fermata.mcp.protocol;

import org.jspecify.annotations.Nullable;

/** What stops the work for a request when its client cancels it or disconnects. */
final class Cancellation {
  private boolean over;
  private boolean cancelled;
  private @Nullable Runnable todo;

  /** Replaces what to do when the request is cancelled; does it at once if the request is over. */
  void onCancel(Runnable next) {
    synchronized (this) {
      if (!over) {
        todo = next;
        return;
      }
    }
    next.run();
  }

  /** The client has cancelled the request. */
  void cancel() {
    synchronized (this) {
      cancelled = true;
    }
    disconnect();
  }

  /** Whether the client has cancelled the request, and has not just disconnected. */
  synchronized boolean cancelled() {
    return cancelled;
  }

  /** Nobody waits for the request any more. */
  void disconnect() {
    Runnable now = end();
    if (now != null) {
      now.run();
    }
  }

  /** The request is over: nothing is to be done any more. Returns what was. */
  synchronized @Nullable Runnable end() {
    Runnable left = todo;
    over = true;
    todo = null;
    return left;
  }
}

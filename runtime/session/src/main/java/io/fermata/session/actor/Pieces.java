package io.fermata.session.actor;

import io.fermata.session.call.ToolProgress;
import java.util.ArrayList;
import java.util.List;

/**
 * The progress of one effect that its session has not fetched yet. However much an effect
 * publishes, one message at a time says so: while an entry is being persisted, a session can keep
 * only so many messages, and the result of the effect is one of them.
 */
final class Pieces {
  private List<ToolProgress> pieces = new ArrayList<>();
  private boolean open = true;

  /** Adds a piece, on any thread. Returns whether the session is to be notified. */
  synchronized boolean add(ToolProgress piece) {
    return open && pieces.add(piece) && pieces.size() == 1;
  }

  /** Everything that was added since the last time, in its order. */
  synchronized List<ToolProgress> fetch() {
    List<ToolProgress> fetched = pieces;
    pieces = new ArrayList<>();
    return fetched;
  }

  /** There is a session that fetches what is added from now on. */
  synchronized void open() {
    open = true;
    pieces = new ArrayList<>();
  }

  /** Nobody fetches any more. */
  synchronized void close() {
    open = false;
    pieces = new ArrayList<>();
  }
}

package io.fermata.mcp;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Counts the open event streams of each principal, and ends them on shutdown. */
final class Streams {
  static final int DEFAULT_MAX = 256;

  private final Tally tally;

  /** A stream that ends when the server does. */
  interface Open {
    void shutDown();
  }

  private final Set<Open> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Streams(int max) {
    this.tally = new Tally(max);
  }

  /** How many streams one principal may have. */
  int max() {
    return tally.max();
  }

  boolean closed() {
    return closed;
  }

  /** Makes room for another stream, if the principal has fewer than it may. */
  boolean tryEnter(String principal) {
    return tally.tryEnter(principal, 1);
  }

  void leave(String principal) {
    tally.leave(principal, 1);
  }

  void opened(Open stream) {
    open.add(stream);
    if (closed) {
      stream.shutDown();
    }
  }

  void gone(Open stream) {
    open.remove(stream);
  }

  /** Ends all streams: each would go on for as long as its client likes. */
  void close() {
    closed = true;
    open.forEach(Open::shutDown);
  }
}

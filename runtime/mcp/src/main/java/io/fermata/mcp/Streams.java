package io.fermata.mcp;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The event streams that are open, and how many each principal has. */
final class Streams {
  static final int DEFAULT_MAX = 256;

  private final Tally tally;
  private final Set<ThreadStream> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Streams(int max) {
    this.tally = new Tally(max);
  }

  /**
   * Makes room for another stream.
   *
   * @throws HttpError if the principal has as many as it may
   */
  void enter(String principal) {
    if (closed) {
      throw HttpError.shuttingDown();
    }
    if (!tryEnter(principal)) {
      throw HttpError.tooManyStreams(tally.max());
    }
  }

  /** Makes room for another stream, if the principal has fewer than it may. */
  boolean tryEnter(String principal) {
    return tally.tryEnter(principal, 1);
  }

  void leave(String principal) {
    tally.leave(principal, 1);
  }

  void opened(ThreadStream stream) {
    open.add(stream);
    if (closed) {
      stream.shutDown();
    }
  }

  void gone(ThreadStream stream) {
    open.remove(stream);
  }

  /** Ends all streams: each would go on for as long as its client likes. */
  void close() {
    closed = true;
    open.forEach(ThreadStream::shutDown);
  }
}

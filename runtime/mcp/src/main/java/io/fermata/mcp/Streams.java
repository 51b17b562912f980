package io.fermata.mcp;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The event streams that are open, and how many each principal has. */
final class Streams {
  static final int DEFAULT_MAX = 256;

  private final int max;
  private final Map<String, Integer> ofPrincipal = new ConcurrentHashMap<>();
  private final Set<ThreadStream> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Streams(int max) {
    this.max = max;
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
      throw HttpError.tooManyStreams(max);
    }
  }

  /** Makes room for another stream, if the principal has fewer than it may. */
  boolean tryEnter(String principal) {
    boolean entered = ofPrincipal.merge(principal, 1, Integer::sum) <= max;
    if (!entered) {
      leave(principal);
    }
    return entered;
  }

  void leave(String principal) {
    ofPrincipal.computeIfPresent(principal, (who, n) -> n == 1 ? null : n - 1);
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

package io.fermata.mcp.catalog;

import io.fermata.mcp.access.PrincipalCounts;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Counts the open event streams of each principal, and ends them on shutdown. */
public final class StreamQuota {
  public static final int DEFAULT_MAX = 256;

  private final PrincipalCounts tally;

  /** A stream that ends when the server does. */
  public interface Open {
    void shutDown();
  }

  private final Set<Open> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  public StreamQuota(int max) {
    this.tally = new PrincipalCounts(max);
  }

  /** How many streams one principal may have. */
  public int max() {
    return tally.max();
  }

  public boolean closed() {
    return closed;
  }

  /** Makes room for another stream, if the principal has fewer than it may. */
  public boolean tryEnter(String principal) {
    return tally.tryEnter(principal, 1);
  }

  public void leave(String principal) {
    tally.leave(principal, 1);
  }

  public void add(Open stream) {
    open.add(stream);
    if (closed) {
      stream.shutDown();
    }
  }

  public void remove(Open stream) {
    open.remove(stream);
  }

  /** Ends all streams: each would go on for as long as its client likes. */
  public void close() {
    closed = true;
    open.forEach(Open::shutDown);
  }
}

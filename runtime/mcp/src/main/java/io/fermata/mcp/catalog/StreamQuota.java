package io.fermata.mcp.catalog;

import io.fermata.mcp.access.PrincipalCounts;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the open event streams of each principal, and ends them on shutdown. */
public final class StreamQuota {
  public static final int DEFAULT_MAX = 256;

  private final PrincipalCounts counts;
  private final AtomicInteger all = new AtomicInteger();

  /** A stream that ends when the server does. */
  public interface Open {
    void shutDown();
  }

  private final Set<Open> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  public StreamQuota(int max) {
    this.counts = new PrincipalCounts(max);
  }

  /** How many streams one principal may have. */
  public int max() {
    return counts.max();
  }

  /** How many streams are open, of all principals. */
  public int count() {
    return all.get();
  }

  public boolean closed() {
    return closed;
  }

  /** Counts another stream, unless the principal has reached its limit. */
  public boolean tryEnter(String principal) {
    boolean entered = counts.tryEnter(principal, 1);
    if (entered) {
      all.incrementAndGet();
    }
    return entered;
  }

  public void leave(String principal) {
    counts.leave(principal, 1);
    all.decrementAndGet();
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

  /** Ends all streams, which their clients would keep open. */
  public void close() {
    closed = true;
    open.forEach(Open::shutDown);
  }
}

package io.fermata.session.cluster;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The shards of a host that leaves. It stays until other hosts have opened them: it may be the one
 * that places them, and nobody does until the next one has taken that over.
 */
final class Departure {
  /** How long it stays without any shard; there may be no host that can hold them. */
  private static final Duration OPENED = Duration.ofSeconds(2);

  private final Set<Integer> here;
  private final Set<Integer> nowhere;
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private volatile boolean closed;

  /**
   * @param here the shards that are open at this host
   */
  Departure(Set<Integer> here) {
    this.here = new HashSet<>(here);
    this.nowhere = new HashSet<>(here);
    look();
  }

  /** A shard that was being opened when the host began to leave is open here. */
  synchronized void opened(int shard) {
    here.add(shard);
    closed = false;
    nowhere.add(shard);
  }

  /** A shard is not open here any more. */
  synchronized void closed(int shard) {
    if (here.remove(shard)) {
      look();
    }
  }

  /** A shard is open at another host. */
  synchronized void openedElsewhere(int shard) {
    if (nowhere.remove(shard)) {
      look();
    }
  }

  private void look() {
    closed = here.isEmpty();
    if (nowhere.isEmpty()) {
      done.complete(null);
    } else if (here.isEmpty()) {
      done.completeOnTimeout(null, OPENED.toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  /** Whether no shard is open here, so that this host may leave if no other one lives. */
  boolean isClosed() {
    return closed;
  }

  /** Completes when this host may leave. */
  CompletableFuture<Void> done() {
    return done;
  }
}

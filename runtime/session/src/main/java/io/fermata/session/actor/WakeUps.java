package io.fermata.session.actor;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The sessions that are to be woken. Only a few recover at a time, so the pace is that of the
 * store, and calls are served meanwhile.
 */
final class WakeUps {

  /** How many sessions recover at a time. */
  static final int AT_ONCE = 200;

  private record Batch(Queue<String> entityIds, CompletableFuture<Void> begun) {}

  private final Deque<Batch> batches = new ArrayDeque<>();
  private final Set<String> recovering = new HashSet<>();

  /**
   * Adds sessions.
   *
   * @param begun completes when the last of them begins to recover
   */
  void add(List<String> entityIds, CompletableFuture<Void> begun) {
    batches.add(new Batch(new ArrayDeque<>(entityIds), begun));
    complete();
  }

  /** The session to wake now, null if there is none or enough are recovering. */
  @Nullable String next() {
    Batch first = batches.peek();
    if (first == null || recovering.size() >= AT_ONCE) {
      return null;
    }
    String entityId = first.entityIds().remove();
    recovering.add(entityId);
    complete();
    return entityId;
  }

  private void complete() {
    while (!batches.isEmpty() && batches.element().entityIds().isEmpty()) {
      batches.remove().begun().complete(null);
    }
  }

  /** A session has recovered, or has failed to. */
  void ended(String entityId) {
    recovering.remove(entityId);
  }

  /** Nothing is woken any more. */
  void clear() {
    batches.forEach(batch -> batch.begun().cancel(false));
    batches.clear();
  }
}

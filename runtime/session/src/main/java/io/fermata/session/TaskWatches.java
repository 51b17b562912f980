package io.fermata.session;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Who wants to know that a session has journaled something. */
final class TaskWatches {
  /** One that watches; it is equal to none but itself. */
  private static final class Watcher {
    final Runnable changed;

    Watcher(Runnable changed) {
      this.changed = changed;
    }
  }

  private final Map<String, Set<Watcher>> watchers = new ConcurrentHashMap<>();

  Runnable watch(String entityId, Runnable changed) {
    Watcher watcher = new Watcher(changed);
    watchers.compute(
        entityId,
        (id, others) -> {
          Set<Watcher> all = others == null ? ConcurrentHashMap.newKeySet() : others;
          all.add(watcher);
          return all;
        });
    return () -> leave(entityId, watcher);
  }

  private void leave(String entityId, Watcher watcher) {
    watchers.computeIfPresent(
        entityId,
        (id, all) -> {
          all.remove(watcher);
          return all.isEmpty() ? null : all;
        });
  }

  /** Whoever watches must not hold up the session. */
  void changed(String entityId) {
    Set<Watcher> all = watchers.get(entityId);
    if (all != null) {
      all.forEach(watcher -> watcher.changed.run());
    }
  }
}

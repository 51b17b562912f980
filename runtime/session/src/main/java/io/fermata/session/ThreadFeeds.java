package io.fermata.session;

import io.fermata.agent.Outside;
import io.fermata.agent.ThreadEvent;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Those who watch the threads of a host, by thread. */
final class ThreadFeeds {
  private final Map<String, List<ThreadFeed>> byEntity = new ConcurrentHashMap<>();

  void add(ThreadFeed feed) {
    byEntity.compute(
        feed.entityId(),
        (entity, feeds) -> {
          List<ThreadFeed> all = feeds == null ? new CopyOnWriteArrayList<>() : feeds;
          all.add(feed);
          return all;
        });
  }

  void remove(ThreadFeed feed) {
    byEntity.computeIfPresent(
        feed.entityId(),
        (entity, feeds) -> {
          feeds.remove(feed);
          return feeds.isEmpty() ? null : feeds;
        });
  }

  boolean watched(String entityId) {
    return byEntity.containsKey(entityId);
  }

  void happened(String entityId, long seq, long at, List<ThreadEvent> events) {
    each(entityId, feed -> feed.journaled(seq, at, events));
  }

  void deleted(String entityId, long seq, long at, List<ThreadEvent> events) {
    each(entityId, feed -> feed.deleted(seq, at, events));
  }

  void heard(String entityId, Outside.Tiding tiding) {
    each(entityId, feed -> feed.heard(tiding));
  }

  void ended(String entityId, @Nullable Throwable why) {
    each(entityId, feed -> feed.end(why));
  }

  void endAll() {
    byEntity.keySet().forEach(entityId -> ended(entityId, null));
  }

  private void each(String entityId, Consumer<ThreadFeed> action) {
    List<ThreadFeed> feeds = byEntity.get(entityId);
    if (feeds != null) {
      feeds.forEach(action);
    }
  }
}

package io.fermata.session.actor;

import io.fermata.agent.engine.Outside;
import io.fermata.session.journal.Entry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The subscribers to the sessions of a host, by session: event streams and task subscriptions. */
public final class SessionSubscriptions {

  /** A subscriber to a session. Its methods return at once, on any thread. */
  public interface Subscriber {

    /**
     * An entry was persisted.
     *
     * @param last whether the session is deleted, so that its journal is erased next
     */
    void persisted(Entry<?> entry, boolean last);

    /** A piece of streamed text, which is not journaled. */
    default void streamed(Outside.Delta delta) {}

    /** The subscription has ended. */
    void ended(@Nullable Throwable why);
  }

  private final Map<String, List<Subscriber>> subscribers = new ConcurrentHashMap<>();

  public void add(String entityId, Subscriber subscriber) {
    subscribers.compute(
        entityId,
        (id, others) -> {
          List<Subscriber> all = others == null ? new CopyOnWriteArrayList<>() : others;
          all.add(subscriber);
          return all;
        });
  }

  public void remove(String entityId, Subscriber subscriber) {
    subscribers.computeIfPresent(
        entityId,
        (id, all) -> {
          all.remove(subscriber);
          return all.isEmpty() ? null : all;
        });
  }

  public boolean has(String entityId) {
    return subscribers.containsKey(entityId);
  }

  public void persisted(String entityId, Entry<?> entry, boolean last) {
    each(entityId, subscriber -> subscriber.persisted(entry, last));
  }

  public void streamed(String entityId, Outside.Delta delta) {
    each(entityId, subscriber -> subscriber.streamed(delta));
  }

  public void ended(String entityId, @Nullable Throwable why) {
    each(entityId, subscriber -> subscriber.ended(why));
  }

  public void endAll() {
    subscribers.keySet().forEach(entityId -> ended(entityId, null));
  }

  private void each(String entityId, Consumer<Subscriber> action) {
    List<Subscriber> all = subscribers.get(entityId);
    if (all != null) {
      all.forEach(action);
    }
  }
}

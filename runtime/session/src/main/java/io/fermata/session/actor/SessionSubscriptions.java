package io.fermata.session.actor;

import io.fermata.agent.engine.Outside;
import io.fermata.session.journal.Entry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Predicate;
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

    /** Entries may have been persisted without a notification, while the session moved. */
    default void missed() {}

    /** Whether it notifies a subscriber of another host. */
    default boolean isRemote() {
      return false;
    }

    /** A piece of streamed text, which is not journaled. */
    default void streamed(Outside.Delta delta) {}

    /** The subscription has ended. */
    void ended(@Nullable Throwable why);
  }

  private final Map<String, List<Subscriber>> subscribers = new ConcurrentHashMap<>();
  private volatile Consumer<String> onAdded = entityId -> {};

  /** Calls this with the session of every subscriber that is added. */
  public void onAdded(Consumer<String> action) {
    onAdded = action;
  }

  public void add(String entityId, Subscriber subscriber) {
    subscribers.compute(
        entityId,
        (id, others) -> {
          List<Subscriber> all = others == null ? new CopyOnWriteArrayList<>() : others;
          all.add(subscriber);
          return all;
        });
    if (!subscriber.isRemote()) {
      onAdded.accept(entityId);
    }
  }

  /** The sessions with a subscriber of this host. */
  public List<String> followed() {
    return subscribers.entrySet().stream()
        .filter(each -> each.getValue().stream().anyMatch(one -> !one.isRemote()))
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Entries of these sessions may have been persisted without a notification. */
  public void missed(Predicate<String> entityIds) {
    subscribers.forEach(
        (entityId, all) -> {
          if (entityIds.test(entityId)) {
            all.forEach(Subscriber::missed);
          }
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

  /** Ends the subscriptions of this host. */
  public void endAll() {
    subscribers
        .values()
        .forEach(
            all -> all.stream().filter(one -> !one.isRemote()).forEach(one -> one.ended(null)));
  }

  private void each(String entityId, Consumer<Subscriber> action) {
    List<Subscriber> all = subscribers.get(entityId);
    if (all != null) {
      all.forEach(action);
    }
  }
}

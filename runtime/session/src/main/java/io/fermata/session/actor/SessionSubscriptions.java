package io.fermata.session.actor;

import io.fermata.agent.message.MessageDelta;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.session.journal.Entry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The subscribers of a host, by session: event streams and task subscriptions, and the other hosts
 * that follow the sessions which run here. What another host notifies this one of is for its own
 * subscribers alone.
 */
public final class SessionSubscriptions {
  private static final Logger LOG = LoggerFactory.getLogger(SessionSubscriptions.class);

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
    default void streamed(MessageDelta delta) {}

    /** The subscription has ended. */
    void ended(@Nullable Throwable why);
  }

  private final Map<String, List<Subscriber>> here = new ConcurrentHashMap<>();
  private final Map<String, List<Subscriber>> elsewhere = new ConcurrentHashMap<>();
  private volatile Consumer<String> onAdded = entityId -> {};

  /** Calls this with the session of every subscriber of this host that is added. */
  public void onAdded(Consumer<String> action) {
    onAdded = action;
  }

  public void add(String entityId, Subscriber subscriber) {
    of(subscriber)
        .compute(
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

  public void remove(String entityId, Subscriber subscriber) {
    of(subscriber)
        .computeIfPresent(
            entityId,
            (id, all) -> {
              all.remove(subscriber);
              return all.isEmpty() ? null : all;
            });
  }

  private Map<String, List<Subscriber>> of(Subscriber subscriber) {
    return subscriber.isRemote() ? elsewhere : here;
  }

  /** The sessions with a subscriber of this host. */
  public Set<String> followed() {
    return Set.copyOf(here.keySet());
  }

  // --- what sessions of this host do -----------------------------------------------------------

  public void persisted(String entityId, Entry<?> entry, boolean last) {
    persistedElsewhere(entityId, entry, last);
    each(elsewhere, entityId, subscriber -> subscriber.persisted(entry, last));
  }

  public void streamed(String entityId, MessageDelta delta) {
    streamedElsewhere(entityId, delta);
    each(elsewhere, entityId, subscriber -> subscriber.streamed(delta));
  }

  public void ended(String entityId) {
    endedElsewhere(entityId);
    each(elsewhere, entityId, subscriber -> subscriber.ended(null));
  }

  // --- what sessions of other hosts do ---------------------------------------------------------

  public void persistedElsewhere(String entityId, Entry<?> entry, boolean last) {
    each(here, entityId, subscriber -> subscriber.persisted(entry, last));
  }

  public void streamedElsewhere(String entityId, MessageDelta delta) {
    each(here, entityId, subscriber -> subscriber.streamed(delta));
  }

  public void endedElsewhere(String entityId) {
    each(here, entityId, subscriber -> subscriber.ended(null));
  }

  /** Entries may have been persisted without a notification. */
  public void missed(String entityId) {
    each(here, entityId, Subscriber::missed);
  }

  /** As {@link #missed(String)}, of several sessions. */
  public void missed(Predicate<String> entityIds) {
    here.keySet().stream().filter(entityIds).forEach(this::missed);
  }

  /** Ends the subscriptions of this host. */
  public void endAll() {
    here.keySet().forEach(this::endedElsewhere);
  }

  private static void each(
      Map<String, List<Subscriber>> subscribers, String entityId, Consumer<Subscriber> action) {
    List<Subscriber> all = subscribers.get(entityId);
    if (all != null) {
      all.forEach(subscriber -> notify(entityId, subscriber, action));
    }
  }

  private static void notify(String entityId, Subscriber subscriber, Consumer<Subscriber> action) {
    try {
      action.accept(subscriber);
    } catch (RuntimeException e) {
      // A subscriber's mistake must not stop the session, or what receives from other hosts.
      LOG.warn("A subscriber to {} could not be notified", entityId, LoggedFailure.of(e));
    }
  }
}

package io.fermata.session.actor;

import io.fermata.flow.event.Effect;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the actors of sessions leave behind when they stop because the store failed, until the
 * session is awake again. Effects keep running, and their results are kept: only the death of the
 * process leaves the outcome of an effect unknown. An append that failed may have been written all
 * the same; the next actor then publishes what it wrote.
 */
public final class LostSessions {

  /**
   * What an actor has left behind.
   *
   * @param published the number of the last entry that was published; null if no other can be there
   */
  record Left<F extends Effect, R>(Effects<F, R> effects, @Nullable Long published) {}

  private final Map<String, Left<?, ?>> bySession = new ConcurrentHashMap<>();

  /**
   * Keeps what the actor of a session, which has stopped, leaves behind.
   *
   * @param published see {@link Left}
   */
  void keep(String entityId, Effects<?, ?> effects, @Nullable Long published) {
    if (!effects.isEmpty() || published != null) {
      bySession.put(entityId, new Left<>(effects, published));
    }
  }

  /**
   * What the last actor of a session has left behind; null for nothing. It stays here until it is
   * {@link #takenOver}: the requesting actor may stop before it has read its journal, without a
   * signal.
   */
  @SuppressWarnings("unchecked") // the kind of a session never changes
  <F extends Effect, R> @Nullable Left<F, R> of(String entityId) {
    return (Left<F, R>) bySession.get(entityId);
  }

  /** The actor of a session has read its journal and owns what was left. */
  void takenOver(String entityId) {
    bySession.remove(entityId);
  }

  /** Forgets a session that is erased, and cancels its effects. */
  public void forget(String entityId) {
    Left<?, ?> left = bySession.remove(entityId);
    if (left != null) {
      left.effects().abandonAll();
    }
  }

  /** Forgets sessions that another host runs now, and cancels their effects. */
  public void forget(Predicate<String> entityIds) {
    bySession.keySet().stream().filter(entityIds).forEach(this::forget);
  }

  /** Cancels all effects, as the process ends. */
  public void close() {
    bySession.values().forEach(left -> left.effects().abandonAll());
    bySession.clear();
  }
}

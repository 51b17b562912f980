package io.fermata.session.actor;

import io.fermata.flow.event.Effect;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The effects of sessions whose actors stopped because the store failed. They keep running, and
 * their results are kept, until the session is awake again. Only the death of the process leaves
 * the outcome of an effect unknown.
 */
public final class LostEffects {
  private final Map<String, Effects<?, ?>> bySession = new ConcurrentHashMap<>();

  /** Keeps the effects of a session whose actor has stopped. */
  void keep(String entityId, Effects<?, ?> effects) {
    if (!effects.isEmpty()) {
      bySession.put(entityId, effects);
    }
  }

  /**
   * The kept effects of a session, or else new ones. They stay here until they are {@link
   * #takenOver}: the requesting actor may stop before it has read its journal, without a signal.
   */
  @SuppressWarnings("unchecked") // the kind of a session never changes
  <F extends Effect, R> Effects<F, R> of(String entityId, Supplier<Effects<F, R>> fresh) {
    Effects<?, ?> kept = bySession.get(entityId);
    return kept == null ? fresh.get() : (Effects<F, R>) kept;
  }

  /** The actor of a session has read its journal and owns the effects now. */
  void takenOver(String entityId) {
    bySession.remove(entityId);
  }

  /** Cancels the kept effects of a session that is erased. */
  public void forget(String entityId) {
    Effects<?, ?> kept = bySession.remove(entityId);
    if (kept != null) {
      kept.abandonAll();
    }
  }

  /** Cancels the kept effects of sessions that another host runs now. */
  public void forget(Predicate<String> entityIds) {
    bySession.keySet().stream().filter(entityIds).forEach(this::forget);
  }

  /** Cancels all kept effects, as the process ends. */
  public void close() {
    bySession.values().forEach(Effects::abandonAll);
    bySession.clear();
  }
}

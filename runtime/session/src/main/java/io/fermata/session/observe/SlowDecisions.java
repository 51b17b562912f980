package io.fermata.session.observe;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Notices authors' code that blocks while a session decides what follows. That happens in its
 * actor, and a few threads run the actors of all sessions.
 */
public final class SlowDecisions {
  private static final Duration LONGEST = Duration.ofMillis(500);

  /** A host has no more nodes than this worth naming. */
  private static final int MOST = 1_000;

  private final LongSupplier nanos;
  private final Set<String> known = ConcurrentHashMap.newKeySet();

  /**
   * @param nanos the time that passes for the machine
   */
  public SlowDecisions(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** The time, of which {@link #warning} gets that at which a decision began. */
  public long now() {
    return nanos.getAsLong();
  }

  /**
   * What to warn of after a decision: once for each place that took too long, as it will again.
   *
   * @param place what decided: {@code flow order at pay}
   * @param remedy where code belongs that blocks
   * @return null if there is nothing to warn of
   */
  public @Nullable String warning(long begun, Supplier<String> place, String remedy) {
    Duration took = Duration.ofNanos(nanos.getAsLong() - begun);
    if (took.compareTo(LONGEST) <= 0) {
      return null;
    }
    String where = place.get();
    return known.size() < MOST && known.add(where)
        ? "Deciding took %s ms in the %s; other sessions wait meanwhile. Move what blocks into %s"
            .formatted(took.toMillis(), where, remedy)
        : null;
  }
}

package io.fermata.session.call;

import org.jspecify.annotations.Nullable;

/**
 * The health of a host.
 *
 * @param problem why its store cannot be written now, and what to do; null if it can
 * @param accepts whether it accepts calls, which it does until it closes
 * @param cluster what it sees of its cluster; null for the only host of a store
 */
public record Health(@Nullable String problem, boolean accepts, @Nullable ClusterHealth cluster) {
  public static final Health GOOD = new Health(null, true, null);

  /** Whether it is ready for calls. */
  public boolean ready() {
    return problem == null && accepts && (cluster == null || cluster.problem() == null);
  }
}

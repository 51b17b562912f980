package io.fermata.session.call;

/**
 * Whether a host can do its work now.
 *
 * @param store whether its store answers
 * @param accepts whether it takes calls, as it does until it closes
 */
public record Health(boolean store, boolean accepts) {
  public static final Health GOOD = new Health(true, true);

  /** Whether calls are welcome. */
  public boolean ready() {
    return store && accepts;
  }
}

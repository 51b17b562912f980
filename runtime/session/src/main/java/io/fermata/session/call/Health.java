package io.fermata.session.call;

/**
 * The health of a host.
 *
 * @param store whether its store responds
 * @param accepts whether it accepts calls, which it does until it closes
 */
public record Health(boolean store, boolean accepts) {
  public static final Health GOOD = new Health(true, true);

  /** Whether it is ready for calls. */
  public boolean ready() {
    return store && accepts;
  }
}

package io.fermata.flow.json;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Function;

/** What can be reached over ways. */
public final class Reached {
  private Reached() {}

  /**
   * All that can be reached from some, themselves included, the nearest first. The set is the
   * caller's.
   *
   * @param ways where one leads
   */
  public static <T> Set<T> from(
      Collection<T> some, Function<? super T, ? extends Collection<? extends T>> ways) {
    Set<T> reached = new LinkedHashSet<>(some);
    Deque<T> open = new ArrayDeque<>(reached);
    while (!open.isEmpty()) {
      ways.apply(open.remove()).stream().filter(reached::add).forEach(open::add);
    }
    return reached;
  }
}

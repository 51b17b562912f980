package io.fermata.agent;

import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;

/** Names that begin alike. */
final class Keys {
  private Keys() {}

  static Set<String> startingWith(Collection<String> keys, String prefix) {
    Set<String> found = new TreeSet<>(keys);
    found.removeIf(key -> !key.startsWith(prefix));
    return found;
  }
}

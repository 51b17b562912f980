package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Sets and maps without an order of their own. Elements of the same hash, such as {@code Aa} and
 * {@code BB}, come in the order in which they were added; those of {@link Set#of} come in another
 * one in each process.
 */
public final class Hashed {
  private Hashed() {}

  public static Set<String> set(String... elements) {
    Set<String> set = new HashSet<>(List.of(elements));
    assertThat(set).containsExactly(elements);
    return set;
  }

  /** The value of each key is its first character. */
  public static Map<String, Integer> map(String... keys) {
    Map<String, Integer> map = new HashMap<>();
    for (String key : keys) {
      map.put(key, (int) key.charAt(0));
    }
    assertThat(map.keySet()).containsExactly(keys);
    return map;
  }
}

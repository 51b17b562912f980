package io.fermata.flow.json;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PersistentMapTest {
  /** Many of these have the same hash. */
  record Key(int value) {
    @Override
    public int hashCode() {
      return (value % 40) * 0x01010101;
    }
  }

  @Test
  void itHoldsWhatAnyOtherMapWouldHoldAfterTheSameChanges() {
    Random random = new Random(7);
    Map<Key, Integer> expected = new HashMap<>();
    Map<Key, Integer> map = Map.of();
    for (int i = 0; i < 5_000; i++) {
      Key key = new Key(random.nextInt(200));
      Map<Key, Integer> before = new HashMap<>(map);
      Map<Key, Integer> changed;
      if (random.nextInt(5) < (i < 2_500 ? 2 : 3)) {
        changed = PersistentMap.without(map, key);
        expected.remove(key);
      } else {
        changed = PersistentMap.with(map, key, i);
        expected.put(key, i);
      }
      assertThat(map).as("a copy leaves the map alone").isEqualTo(before);
      map = changed;
      assertThat(map).isEqualTo(expected).hasSameSizeAs(List.copyOf(map.entrySet()));
      assertThat(map.get(key)).isEqualTo(expected.get(key));
    }
    for (Key key : List.copyOf(map.keySet())) {
      map = PersistentMap.without(map, key);
    }
    assertThat(map).isEmpty();
  }
}

package io.fermata.flow.engine;

import static io.fermata.flow.Costs.times;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What branches changed, put together. */
class MergeTest {
  private static Branch branch(Map<String, ?> values) {
    ObjectNode data = Json.object();
    values.forEach(
        (path, value) -> {
          int dot = path.lastIndexOf('.');
          ObjectNode whole =
              dot < 0 ? data : data.withObject("/" + path.substring(0, dot).replace('.', '/'));
          whole.set(path.substring(dot + 1), Json.tree(value));
        });
    StateMemory memory = new StateMemory(data, Map.of(), Map.of(), Map.of(), Map.of(), 0);
    return new Branch(memory, Map.of(), Map.of(), Map.of(), Map.of(), values.keySet());
  }

  private static Merge.Merged merged(Map<String, Branch> branches) {
    ObjectNode nothing = Json.object();
    return new Merge(nothing, nothing, branches, Map.of()).merged();
  }

  @Test
  void whatLiesWithinAnotherChangedPathIsMergedWithIt() {
    Map<String, Branch> branches = new LinkedHashMap<>();
    branches.put("x", branch(Map.of("a.b", 1)));
    branches.put("y", branch(Map.of("a", Map.of("b", 1))));
    branches.put("z", branch(Map.of("ab", 2)));
    assertThat(merged(branches).writes()).extracting(Write::path).containsExactly("a", "ab");
    branches.put("z", branch(Map.of("a.c", 2)));
    assertThat(merged(branches).conflicts()).containsExactly("a (x, y, z)");
  }

  @Test
  @Tag("slow")
  @Tag("long")
  void tenTimesAsManyFieldsOrBranchesAreMergedForTenTimesTheCost() {
    assertThat(times(merge(2, 4_000), merge(2, 400), 5)).isLessThan(25);
    assertThat(times(merge(4_000, 2), merge(400, 2), 5)).isLessThan(25);
  }

  private static Runnable merge(int branches, int fields) {
    Map<String, Branch> all = new LinkedHashMap<>();
    for (int i = 0; i < branches; i++) {
      String name = "each.n" + i + ".field";
      Map<String, Integer> values = new LinkedHashMap<>();
      IntStream.range(0, fields).forEach(f -> values.put(name + f, f));
      all.put("" + i, branch(values));
    }
    return () -> assertThat(merged(all).writes()).hasSize(branches * fields);
  }
}

package io.fermata.flow.engine;

import io.fermata.flow.Graph;
import io.fermata.flow.Step;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which branches get the values of a client: a field that one branch asks for goes to that branch
 * alone, so that the others do not depend on when the answer comes. Every branch gets the rest.
 */
final class Recipients {
  private final Graph graph;
  private final RunState state;

  /** What steps ask for in each branch that they lie in. */
  private final Map<String, Map<String, List<String>>> asked = new HashMap<>();

  Recipients(Graph graph, RunState state) {
    this.graph = graph;
    this.state = state;
  }

  /** The only branches that get the value of a field; null if every branch gets all. */
  @Nullable Map<String, List<String>> of(Set<String> fields) {
    Map<String, List<String>> alone = new LinkedHashMap<>();
    if (state.branches().size() > 1) {
      for (String field : fields) {
        List<String> asking = asking(field);
        if (!asking.isEmpty()) {
          alone.put(field, asking);
        }
      }
    }
    return alone.isEmpty() ? null : alone;
  }

  /** The branches that a question for the field lies in, without those around them. */
  private List<String> asking(String field) {
    List<Map<String, List<String>>> askers =
        graph.askers(field).stream()
            .map(step -> asked.computeIfAbsent(step.path(), path -> askedBy(step)))
            .toList();
    List<String> all = new ArrayList<>();
    for (String branch : state.branches().keySet()) {
      if (asks(askers, branch, field)) {
        all.add(branch);
      }
    }
    return all.stream()
        .filter(b -> all.stream().noneMatch(in -> !in.equals(b) && Place.within(in, b)))
        .toList();
  }

  private static boolean asks(List<Map<String, List<String>>> askers, String branch, String field) {
    for (Map<String, List<String>> asker : askers) {
      for (String path : asker.getOrDefault(branch, List.of())) {
        if (Paths.like(path, field)) {
          return true;
        }
      }
    }
    return false;
  }

  private Map<String, List<String>> askedBy(Step<?> step) {
    Map<String, List<String>> byBranch = new HashMap<>();
    for (String branch : state.branches().keySet()) {
      if (!branch.isEmpty() && liesIn(step, branch)) {
        byBranch.put(branch, Graph.asked(step, new Place(branch, step.path(), 1)));
      }
    }
    return byBranch;
  }

  private boolean liesIn(Step<?> step, String branch) {
    Map<String, String> sides = graph.sides(step.path());
    for (Place.Inside inside : Place.around(branch)) {
      String side = sides.get(inside.fork().node());
      if (side == null || !(side.equals(Paths.ANY) || side.equals(inside.label()))) {
        return false;
      }
    }
    return true;
  }
}

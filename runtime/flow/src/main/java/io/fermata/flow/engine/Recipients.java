package io.fermata.flow.engine;

import io.fermata.flow.Graph;
import io.fermata.flow.Step;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Paths;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which branches get the values of a client: a field that one branch asks for goes to that branch
 * alone, so that the others do not depend on when the answer comes. Every branch gets the rest.
 */
record Recipients(Graph graph, RunState state) {

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
    List<Step<?>> askers = graph.askers(field);
    List<String> all =
        state.branches().keySet().stream()
            .filter(branch -> !branch.isEmpty())
            .filter(branch -> askers.stream().anyMatch(step -> liesIn(step, branch, field)))
            .toList();
    return all.stream()
        .filter(b -> all.stream().noneMatch(in -> !in.equals(b) && Place.within(in, b)))
        .toList();
  }

  private boolean liesIn(Step<?> step, String branch, String field) {
    Map<String, String> sides = graph.sides(step.path());
    for (Place.Inside inside : Place.around(branch)) {
      String side = sides.get(inside.fork().node());
      if (side == null || !(side.equals(Paths.ANY) || side.equals(inside.label()))) {
        return false;
      }
    }
    return Graph.concernsAny(step, new Place(branch, step.path(), 1), field);
  }
}

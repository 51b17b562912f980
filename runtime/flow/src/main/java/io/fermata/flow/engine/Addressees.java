package io.fermata.flow.engine;

import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.StateSchema;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which branches are told what a client says: of a field that is asked for in one branch that one
 * alone, so that the others do not depend on when the answer comes. All are told of the rest.
 */
record Addressees(Graph graph, RunState state) {

  /** The branches that alone are told of a field; null if there is no such field. */
  @Nullable Map<String, List<String>> of(Set<String> fields) {
    Map<String, List<String>> told = new LinkedHashMap<>();
    if (state.branches().size() > 1) {
      for (String field : fields) {
        List<String> asking = asking(field);
        if (!asking.isEmpty()) {
          told.put(field, asking);
        }
      }
    }
    return told.isEmpty() ? null : told;
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
    String at = branch;
    for (Place fork = Place.forkOf(at); fork != null; fork = Place.forkOf(at)) {
      String side = sides.get(fork.node());
      if (side == null || !(side.equals(StateSchema.ANY) || side.equals(Place.labelOf(at)))) {
        return false;
      }
      at = fork.branch();
    }
    String prefix = step.scope().prefix(new Place(branch, step.path(), 1));
    Node<?> node = step.node();
    return node != null
        && node.fields().stream().anyMatch(asked -> Paths.like(prefix + asked, field));
  }
}

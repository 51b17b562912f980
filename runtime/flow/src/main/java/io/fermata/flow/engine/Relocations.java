package io.fermata.flow.engine;

import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Step;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fold;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds the answers of a run that was carried over which other nodes ask for than those that got
 * them. A node that the run has passed must count as left, or its answer would be free to be
 * changed, could not be corrected, and would be taken for one of the next pass of a loop. A node
 * that is still to come takes the answer, if it is of this pass. A node that the run entered in a
 * branch that was dropped, and never left, got its answer itself.
 */
final class Relocations {
  private final Graph graph;
  private final RunState state;
  private final List<Event.Relocated> found = new ArrayList<>();

  private Relocations(Graph graph, RunState state) {
    this.graph = graph;
    this.state = state;
  }

  /**
   * The relocated answers in all that a run knows.
   *
   * @param state after its migration, which fits the graph
   */
  static List<Event.Relocated> of(Graph graph, RunState state) {
    Relocations relocations = new Relocations(graph, state);
    relocations.find();
    return List.copyOf(relocations.found);
  }

  private void find() {
    state
        .branches()
        .forEach(
            (name, branch) -> {
              List<String> own =
                  state.places().keySet().stream()
                      .filter(place -> place.branch().equals(name))
                      .map(Place::node)
                      .toList();
              find(name, null, branch.memory(), branch.passes(), own);
              branch
                  .entered()
                  .forEach(
                      (checkpoint, known) -> {
                        String node = Fold.checkpointNode(checkpoint);
                        if (graph.has(node)) {
                          find(name, checkpoint, known.memory(), known.passes(), List.of(node));
                        }
                      });
            });
  }

  /**
   * @param passes how often the branch had entered each node
   * @param at where the branch is, or was at the checkpoint
   */
  private void find(
      String branch,
      @Nullable String checkpoint,
      StateMemory memory,
      Map<String, Integer> passes,
      List<String> at) {
    if (memory.accepted().isEmpty()) {
      return;
    }
    List<String> from = new ArrayList<>(at);
    Place.around(branch).forEach(inside -> from.addAll(beyond(inside.fork())));
    Set<String> ahead = graph.ahead(from);
    Set<String> entered = entered(branch, passes);
    List<String> here = new ArrayList<>(at);
    Place.around(branch).forEach(inside -> here.add(inside.fork().node()));
    for (Step<?> step : graph.steps()) {
      for (String field : Graph.asked(step, new Place(branch, step.path(), 1))) {
        long accepted = memory.accepted(field);
        if (accepted > left(memory, step.path())
            && (!ahead.contains(step.path()) || passed(memory, ahead, accepted))
            && !kept(branch, checkpoint == null, memory, field, accepted)
            && !lost(memory, entered, here, step.path())) {
          found.add(new Event.Relocated(branch, checkpoint, step.path(), field));
        }
      }
    }
  }

  private List<String> beyond(Place fork) {
    PlaceState at = state.places().get(fork);
    return at != null && at.phase().busy() instanceof Phase.Forked forked
        ? graph.beyond(fork.node(), forked.list())
        : List.of();
  }

  /** The nodes that a branch has entered, or one around it. */
  private Set<String> entered(String branch, Map<String, Integer> passes) {
    Set<String> entered = new HashSet<>(passes.keySet());
    for (Place.Inside inside : Place.around(branch)) {
      entered.addAll(state.branch(inside.fork().branch()).passes().keySet());
    }
    return entered;
  }

  /**
   * Whether a node, or a sub-flow around it, was entered in a branch that was dropped, and never
   * left.
   *
   * @param here where the run is, or was
   */
  private static boolean lost(
      StateMemory memory, Set<String> entered, List<String> here, String node) {
    if (neverLeft(memory, entered, here, node, node)) {
      return true;
    }
    for (int end = node.lastIndexOf('/'); end > 0; end = node.lastIndexOf('/', end - 1)) {
      String subflow = node.substring(0, end);
      if (neverLeft(memory, entered, here, subflow, subflow + "/" + Flow.END)) {
        return true;
      }
    }
    return false;
  }

  /**
   * @param last what is left last of the node
   */
  private static boolean neverLeft(
      StateMemory memory, Set<String> entered, List<String> here, String node, String last) {
    return entered.contains(node)
        && left(memory, last) == 0
        && here.stream().noneMatch(at -> at.equals(node) || at.startsWith(node + "/"));
  }

  private static long left(StateMemory memory, String node) {
    return memory.left().getOrDefault(node, 0L);
  }

  /** Whether a pass has ended since a moment: what is to come was left after it. */
  private static boolean passed(StateMemory memory, Set<String> ahead, long since) {
    return ahead.stream().anyMatch(node -> left(memory, node) > since);
  }

  /**
   * Whether a node that asks for a field has its answer: it was left since, or the run is there.
   */
  private boolean kept(
      String branch, boolean now, StateMemory memory, String field, long accepted) {
    for (Step<?> asker : graph.askers(field)) {
      if (Graph.concernsAny(asker, new Place(branch, asker.path(), 1), field)
          && (left(memory, asker.path()) >= accepted
              || keptAt(branch, now, asker.path(), field, accepted))) {
        return true;
      }
    }
    return false;
  }

  /** Whether the run is at a node, in the branch or at a fork around it, and the answer stands. */
  private boolean keptAt(String branch, boolean now, String node, String field, long accepted) {
    return state.places().entrySet().stream()
        .filter(entry -> entry.getKey().node().equals(node))
        .filter(entry -> Place.within(branch, entry.getKey().branch()))
        .filter(entry -> now || !entry.getKey().branch().equals(branch))
        .filter(entry -> state.memory(entry.getKey().branch()).accepted(field) >= accepted)
        .anyMatch(
            entry ->
                entry.getValue().accepted().stream().anyMatch(path -> Paths.like(field, path)));
  }
}

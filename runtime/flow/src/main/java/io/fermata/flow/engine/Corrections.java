package io.fermata.flow.engine;

import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fold;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds how far back a correction goes. */
final class Corrections {
  private final Graph graph;
  private final RunState state;

  Corrections(Graph graph, RunState state) {
    this.graph = graph;
    this.state = state;
  }

  /** A place to go back to, and when the run was there. */
  private record Found(Event.Back back, long tick) {}

  /**
   * New visits to the earliest steps that asked for one of the fields, one in each branch that is
   * concerned. To a fork whose branches have joined, for a field that was asked in one of them. To
   * START for a field that no node asks for, as any node may have read it, and where the way back
   * to the node is not known, after a correction within a loop or where a migration moved its
   * question. Empty if every field is still to be asked.
   */
  List<Event.Back> goBackTo(Set<String> fields) {
    Map<String, Found> byBranch = new LinkedHashMap<>();
    for (String field : fields) {
      Found found = askedBy(field);
      if (found != null) {
        byBranch.merge(
            found.back().place().branch(), found, (a, b) -> a.tick() <= b.tick() ? a : b);
      }
    }
    return byBranch.values().stream()
        .filter(found -> byBranch.keySet().stream().noneMatch(b -> contains(b, found)))
        .map(Found::back)
        .toList();
  }

  /** Going back in a branch ends all that branches off it. */
  private static boolean contains(String branch, Found found) {
    String own = found.back().place().branch();
    return !branch.equals(own) && Place.within(own, branch);
  }

  private @Nullable Found askedBy(String field) {
    List<Step<?>> askers = graph.askers(field);
    boolean passed = false;
    Found earliest = null;
    for (Step<?> step : askers) {
      passed |= state.branches().keySet().stream().anyMatch(b -> left(b, step, field));
      Found found = wayBackTo(step, field);
      if (found != null && (earliest == null || found.tick() < earliest.tick())) {
        earliest = found;
      }
    }
    boolean lost = earliest == null && passed;
    if (!askers.isEmpty() && !lost) {
      return earliest;
    }
    return checkpoint("", Flow.START, Flow.START, true);
  }

  /**
   * Whether a step that asks for a field was left in a branch; not for another item, and not before
   * the fork that is open around it.
   */
  private boolean left(String branch, Step<?> step, String field) {
    Long left = state.memory(branch).left().get(step.path());
    return left != null
        && Graph.concernsAny(step, new Place(branch, step.path(), 1), field)
        && left > forkedAt(step.path());
  }

  private long forkedAt(String step) {
    long forked = 0;
    for (String fork : graph.forksAround(step)) {
      for (Place place : state.places().keySet()) {
        if (isOpen(place, fork, step)) {
          Branch known = state.branch(place.branch());
          Branch.Checkpoint at = known.entered().get(Fold.forkPoint(fork));
          forked = at == null ? forked : Math.max(forked, at.tick());
        }
      }
    }
    return forked;
  }

  /**
   * Into the step where its branch is still open, else to the fork or list it lies in; of a list's
   * items, in the one that the field is of.
   */
  private @Nullable Found wayBackTo(Step<?> step, String field) {
    for (String branch : innermostFirst()) {
      Place there = new Place(branch, step.path(), 1);
      if (Graph.concerns(step, there, field)) {
        Found found = checkpoint(branch, step.path(), step.path(), false);
        if (found != null) {
          return found;
        }
      }
    }
    for (String fork : graph.forksAround(step.path())) {
      for (String branch : innermostFirst()) {
        boolean other = !Graph.concernsAny(step, new Place(branch, step.path(), 1), field);
        if (other || open(branch, fork, step.path())) {
          continue;
        }
        String known = item(step.path(), fork) ? fork : Fold.forkPoint(fork);
        Found found = checkpoint(branch, fork, known, !known.equals(fork));
        if (found != null) {
          return found;
        }
      }
    }
    return null;
  }

  /** Whether the branches of a fork have not joined yet, so that each can be gone back in. */
  private boolean open(String branch, String fork, String step) {
    return state.places().keySet().stream()
        .anyMatch(place -> place.branch().equals(branch) && isOpen(place, fork, step));
  }

  /** A node may fork into the items of a list, and then into what follows it. */
  private boolean isOpen(Place place, String fork, String step) {
    return place.node().equals(fork)
        && state.at(place).phase().busy() instanceof Phase.Forked forked
        && forked.list() == item(step, fork);
  }

  private boolean item(String step, String fork) {
    return graph.step(fork).node() instanceof Node.Each && step.startsWith(fork + "/");
  }

  private List<String> innermostFirst() {
    List<String> names = new ArrayList<>(state.branches().keySet());
    names.sort((a, b) -> b.length() - a.length());
    return names;
  }

  private @Nullable Found checkpoint(String branch, String node, String name, boolean leaving) {
    Branch known = state.branch(branch);
    Branch.Checkpoint checkpoint = known.entered().get(name);
    if (checkpoint == null) {
      return null;
    }
    Place place = new Place(branch, node, known.visits(node) + 1);
    return new Found(new Event.Back(place, name, leaving), checkpoint.tick());
  }

  /** The moment that a place to go back to goes back to. */
  long tick(Event.Back back) {
    Branch.Checkpoint checkpoint =
        state.branch(back.place().branch()).entered().get(back.checkpoint());
    return checkpoint == null ? Long.MAX_VALUE : checkpoint.tick();
  }

  /** A step that may run only once and did or does run since the place was entered, if any. */
  @Nullable String onceAfter(Event.Back back) {
    long tick = tick(back);
    String branch = back.place().branch();
    for (Map.Entry<String, Branch> entry : state.branches().entrySet()) {
      if (Place.within(entry.getKey(), branch)) {
        for (Map.Entry<String, Long> ran : entry.getValue().committed().entrySet()) {
          if (once(ran.getKey()) && ran.getValue() > tick) {
            return ran.getKey();
          }
        }
      }
    }
    for (Map.Entry<Place, PlaceState> entry : state.places().entrySet()) {
      Place place = entry.getKey();
      boolean working = entry.getValue().phase() instanceof Phase.Working;
      if (working && Place.within(place.branch(), branch) && once(place.node())) {
        return place.node();
      }
    }
    return null;
  }

  private boolean once(String node) {
    return graph.has(node)
        && graph.step(node).node() instanceof Node.Act<?> act
        && act.policy().once();
  }
}

package io.fermata.flow;

import io.fermata.flow.route.Route;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What the ways through a graph mean to one who looks back at a run. */
final class Reachability {
  private final Graph graph;

  Reachability(Graph graph) {
    this.graph = graph;
  }

  static String way(String from, String to) {
    return from + ">" + to;
  }

  /** The ways that lead from a step to one through which the run came there. */
  Set<String> back() {
    Set<String> back = new LinkedHashSet<>();
    Set<String> known = new HashSet<>();
    for (Step<?> step : graph.steps()) {
      if (step.path().endsWith(Flow.START) && !known.contains(step.path())) {
        walk(step.path(), known, back);
      }
    }
    return back;
  }

  private record Here(String path, Iterator<String> targets) {}

  private void walk(String start, Set<String> known, Set<String> back) {
    Deque<Here> stack = new ArrayDeque<>();
    Set<String> around = new HashSet<>();
    stack.push(enter(start, known, around));
    while (!stack.isEmpty()) {
      Here here = stack.peek();
      if (!here.targets().hasNext()) {
        around.remove(here.path());
        stack.pop();
        continue;
      }
      String target = here.targets().next();
      if (around.contains(target)) {
        back.add(way(here.path(), target));
      } else if (!known.contains(target)) {
        stack.push(enter(target, known, around));
      }
    }
  }

  private Here enter(String path, Set<String> known, Set<String> around) {
    known.add(path);
    around.add(path);
    return new Here(path, graph.targets(path).iterator());
  }

  /** Whether the end can be reached from a step without entering another. */
  boolean avoidable(String from, String node) {
    return leads(from, Flow.END, node);
  }

  /** Whether a way leads to a goal that does not touch a step. */
  private boolean leads(String from, String goal, String avoided) {
    Set<String> seen = new HashSet<>(List.of(from));
    Deque<String> open = new ArrayDeque<>(seen);
    while (!open.isEmpty()) {
      for (String target : avoiding(open.remove(), avoided)) {
        if (target.equals(goal)) {
          return true;
        }
        if (!target.equals(avoided) && seen.add(target)) {
          open.add(target);
        }
      }
    }
    return false;
  }

  /**
   * Where a step leads; a fork leads to its join only through all branches that are always taken.
   */
  private Collection<String> avoiding(String path, String avoided) {
    Step<?> step = graph.step(path);
    if (!(step.route() instanceof Route.Fork fork)) {
      return graph.targets(path);
    }
    String join = step.scope().node(fork.join());
    List<String> always =
        fork.arms().stream()
            .filter(arm -> arm.rule() == null)
            .map(arm -> step.scope().node(arm.head()))
            .toList();
    if (always.isEmpty()) {
      return graph.targets(path);
    }
    boolean passable =
        always.stream().allMatch(head -> !head.equals(avoided) && leads(head, join, avoided));
    return passable ? List.of(join) : List.of();
  }
}

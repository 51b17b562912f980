package io.fermata.flow;

import io.fermata.flow.picture.Picture.Style;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Where a run went and where it is, read off its journal in the terms of a picture's shapes. */
final class Trail {
  private static final String IN = "/" + Flow.START;
  private static final String OUT = "/" + Flow.END;

  private final Graph graph;
  private RunState state = RunState.NONE;

  private final Map<String, Integer> visits = new HashMap<>();
  private final Map<Way, Integer> taken = new LinkedHashMap<>();
  private final Map<String, Event.Decided> decided = new HashMap<>();
  private final Map<String, Phase.Forked> lists = new LinkedHashMap<>();
  private final Map<Place, ErrorCode> failed = new LinkedHashMap<>();
  private final Set<Place> undone = new HashSet<>();
  private final Set<String> dropped = new HashSet<>();
  private final Map<Place, At> left = new LinkedHashMap<>();
  private final Set<Place> late = new HashSet<>();
  private final Set<Place> joined = new HashSet<>();
  private final Set<Place> broken = new HashSet<>();

  /**
   * What tells one arrow from another.
   *
   * @param to told only where the ways that begin there differ in nothing else
   */
  record Way(String from, String to, Style style, int rule) {}

  private Trail(Graph graph) {
    this.graph = graph;
  }

  static Trail of(Flow<?> flow, List<Event> journal) {
    Trail trail = new Trail(flow.graph());
    journal.forEach(trail::follow);
    return trail;
  }

  // --- what it came to ------------------------------------------------------------------------

  RunState state() {
    return state;
  }

  /** How often each node was entered, by path. */
  Map<String, Integer> visits() {
    return visits;
  }

  /** How often each way was taken. */
  Map<Way, Integer> taken() {
    return taken;
  }

  /** The last decision at each node. */
  Map<String, Event.Decided> decided() {
    return decided;
  }

  /** Where the run is, and where it was when it ended before it was through. */
  Map<Place, At> places() {
    Map<Place, At> places = new LinkedHashMap<>(left);
    places.putAll(state.places());
    return places;
  }

  /** Where branches failed. */
  Map<Place, ErrorCode> failed() {
    return failed;
  }

  Set<Place> undone() {
    return undone;
  }

  /** The items of a node that runs a flow for each of a list, in all branches. */
  List<Phase.Forked> items(String path) {
    Map<String, Phase.Forked> all = new LinkedHashMap<>(lists);
    places().forEach((place, at) -> list(place, at, all));
    return all.entrySet().stream()
        .filter(entry -> entry.getKey().endsWith("|" + path))
        .map(Map.Entry::getValue)
        .toList();
  }

  private static void list(Place place, At at, Map<String, Phase.Forked> lists) {
    if (at.phase().busy() instanceof Phase.Forked forked && forked.list()) {
      lists.put(place.branch() + "|" + place.node(), forked);
    }
  }

  /** Whether a shape lies in a branch that was given up. */
  boolean isDropped(String path) {
    String at =
        path.endsWith(Outline.FORK) || path.endsWith(Outline.JOIN)
            ? path.substring(0, path.length() - 1)
            : path;
    return dropped.contains(at)
        || (at.contains("/") && isDropped(at.substring(0, at.lastIndexOf('/'))));
  }

  // --- following ------------------------------------------------------------------------------

  private void follow(Event event) {
    if (event instanceof Event.Started) {
      forget();
      visit(new Place(Flow.START, 1));
    } else if (event instanceof Event.Moved e) {
      leave(e.from(), e.to().node());
      visit(e.to());
    } else if (event instanceof Event.Decided e) {
      decided.put(shape(e.place().node()), e);
    } else if (event instanceof Event.Overdue e) {
      late.add(e.place());
    } else if (event instanceof Event.Broken e) {
      broken.add(e.place());
    } else if (event instanceof Event.Undone e) {
      undone.add(e.place());
    } else if (event instanceof Event.Reset e) {
      e.to().stream().filter(back -> !back.leaving()).forEach(back -> visit(back.place()));
    } else if (event instanceof Event.Ending
        || event instanceof Event.Cancelled
        || event instanceof Event.Failed) {
      left.putAll(state.places());
    } else {
      branches(event);
    }
    state = state.apply(event);
  }

  private void branches(Event event) {
    if (event instanceof Event.Forked e && e.list()) {
      e.heads().forEach(head -> visit(head.place()));
    } else if (event instanceof Event.Forked e) {
      forked(e);
    } else if (event instanceof Event.Arrived e) {
      leave(e.place(), null);
    } else if (event instanceof Event.BranchFailed e) {
      failed(e.place().branch());
    } else if (event instanceof Event.Joined e) {
      joined(e);
    }
  }

  private void forget() {
    visits.clear();
    taken.clear();
    decided.clear();
    lists.clear();
    failed.clear();
    undone.clear();
    dropped.clear();
    left.clear();
    late.clear();
    joined.clear();
    broken.clear();
  }

  private void visit(Place place) {
    visits.merge(place.node(), 1, Integer::sum);
    failed.keySet().removeIf(other -> again(other, place));
    undone.removeIf(other -> again(other, place));
    dropped.remove(place.node());
  }

  /** Whether two places differ in their visits only. */
  private static boolean again(Place one, Place two) {
    return one.node().equals(two.node()) && timeless(one).equals(timeless(two));
  }

  private static String timeless(Place place) {
    return place.toString().replaceAll("#\\d+", "");
  }

  /** A sub-flow's end is drawn inside its box, and what follows it leaves from the box. */
  private static String shape(String path) {
    return path.endsWith(OUT) ? path.substring(0, path.length() - OUT.length()) : path;
  }

  // --- ways -----------------------------------------------------------------------------------

  /**
   * Takes the way that leads out of a place.
   *
   * @param to where it led; null for a join
   */
  private void leave(Place place, @Nullable String to) {
    String from = shape(place.node());
    boolean early = broken.remove(place);
    boolean opens = to != null && to.equals(place.node() + IN);
    if (opens || !graph.has(place.node())) {
      return;
    }
    if (early && to != null) {
      take(from, to, Style.EARLY, -1);
    } else if (late.remove(place)) {
      take(from, "", Style.LATE, -1);
    } else if (!(graph.step(place).route() instanceof Route.Fork)) {
      take(from, "", Style.ONWARD, matched(from));
    } else if (joined.remove(place)) {
      take(from + Outline.JOIN, "", Style.ONWARD, -1);
    } else {
      take(from, "", Style.ONWARD, -1);
      take(from + Outline.FORK, from + Outline.JOIN, Style.ONWARD, -1);
      take(from + Outline.JOIN, "", Style.ONWARD, -1);
    }
  }

  private void take(String from, String to, Style style, int rule) {
    taken.merge(new Way(from, to, style, rule), 1, Integer::sum);
  }

  /** The rule that decided the last time; -1 if none matched. */
  private int matched(String from) {
    Event.Decided decision = decided.get(from);
    if (decision != null) {
      for (int i = 0; i < decision.tried().size(); i++) {
        if (decision.tried().get(i).matched()) {
          return i;
        }
      }
    }
    return -1;
  }

  private void forked(Event.Forked e) {
    String from = shape(e.place().node());
    take(from, "", Style.ONWARD, -1);
    for (Event.Head head : e.heads()) {
      region(e.place(), head.label()).forEach(dropped::remove);
      visit(head.place());
      for (int rule : rules(e.place(), head.label())) {
        take(from + Outline.FORK, head.place().node(), Style.ONWARD, rule);
      }
    }
  }

  /** The arms through which a branch was entered, by their rules. */
  private List<Integer> rules(Place fork, String head) {
    List<Integer> entered = new ArrayList<>();
    if (!(graph.has(fork.node()) && graph.step(fork).route() instanceof Route.Fork route)) {
      return entered;
    }
    Event.Decided decision = decided.get(shape(fork.node()));
    List<Event.Tried> tried = decision == null ? List.of() : decision.tried();
    int rule = 0;
    for (Route.Arm arm : route.arms()) {
      boolean matched = arm.rule() == null || (rule < tried.size() && tried.get(rule).matched());
      if (arm.head().equals(head) && matched) {
        entered.add(arm.rule() == null ? -1 : rule);
      }
      rule += arm.rule() == null ? 0 : 1;
    }
    return entered.isEmpty() ? List.of(-1) : entered;
  }

  // --- branches -------------------------------------------------------------------------------

  private void joined(Event.Joined e) {
    if (e.to() != null) {
      joined.add(e.place());
    }
    At at = state.places().get(e.place());
    if (at != null) {
      list(e.place(), at, lists);
    }
    e.dropped().forEach(label -> dropped.addAll(region(e.place(), label)));
  }

  private void failed(String branch) {
    state
        .places()
        .forEach(
            (place, at) -> {
              if (Place.within(place.branch(), branch)
                  && at.phase() instanceof Phase.Halted halted) {
                failed.put(place, halted.code());
              }
            });
    Place fork = Place.forkOf(branch);
    if (fork != null) {
      dropped.addAll(region(fork, Place.labelOf(branch)));
    }
  }

  /** The paths of a branch's shapes, those in its boxes excepted. */
  private Set<String> region(Place fork, String label) {
    Set<String> region = new HashSet<>();
    if (graph.has(fork.node()) && graph.step(fork).route() instanceof Route.Fork route) {
      Scope<?> scope = graph.step(fork).scope();
      if (scope.flow().nodes().containsKey(label)) {
        new Graph.Regions(scope.flow())
            .branch(label, route)
            .forEach(node -> region.add(scope.node(node)));
      }
    }
    return region;
  }
}

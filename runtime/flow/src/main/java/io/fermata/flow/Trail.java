package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Drawing.Arrow;
import io.fermata.flow.Drawing.Mark;
import io.fermata.flow.Drawing.Now;
import io.fermata.flow.Drawing.Shape;
import io.fermata.flow.Drawing.Style;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Where a run went and where it is, told from its journal and put on the drawing of its flow. */
final class Trail {
  private static final int LONGEST_VALUE = 24;
  private static final int LONGEST_MESSAGE = 80;
  private static final String IN = "/" + Flow.START;
  private static final String OUT = "/" + Flow.END;

  private final Flow<?> flow;
  private final Graph graph;
  private RunState state = RunState.NONE;

  private final Map<String, Integer> visits = new HashMap<>();
  private final Map<Way, Integer> taken = new LinkedHashMap<>();
  private final Map<String, Event.Decided> decided = new HashMap<>();
  private final Map<String, Phase.Forked> items = new LinkedHashMap<>();
  private final Map<Place, String> notes = new LinkedHashMap<>();
  private final Set<String> dropped = new HashSet<>();
  private final Map<Place, At> left = new LinkedHashMap<>();
  private final Set<Place> late = new HashSet<>();
  private final Set<Place> joined = new HashSet<>();
  private final Map<Place, String> broken = new HashMap<>();

  /** What tells one arrow from another. */
  private record Way(String from, String to, Style style, int rule) {}

  private Trail(Flow<?> flow) {
    this.flow = flow;
    this.graph = flow.graph();
  }

  static Trail of(Flow<?> flow, List<Event> journal) {
    Trail trail = new Trail(flow);
    for (Event event : journal) {
      trail.follow(event);
    }
    return trail;
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
      broken.put(e.place(), e.reason());
    } else if (event instanceof Event.Undone e) {
      notes.put(e.place(), "undone");
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
    state
        .places()
        .forEach(
            (place, at) -> {
              if (at.phase() instanceof Phase.Forked forked && forked.list()) {
                items.put(place.branch() + "|" + place.node(), forked);
              }
            });
  }

  private void branches(Event event) {
    if (event instanceof Event.Forked e && e.list()) {
      e.heads().forEach(head -> visit(head.place()));
    } else if (event instanceof Event.Forked e) {
      forked(e);
    } else if (event instanceof Event.Arrived e) {
      leave(e.place(), null);
    } else if (event instanceof Event.BranchFailed e) {
      failed(e);
    } else if (event instanceof Event.Joined e) {
      if (e.to() != null) {
        joined.add(e.place());
      }
      e.dropped().forEach(label -> drop(e.place(), label));
    }
  }

  private void forget() {
    visits.clear();
    taken.clear();
    decided.clear();
    items.clear();
    notes.clear();
    dropped.clear();
    left.clear();
    late.clear();
    joined.clear();
    broken.clear();
  }

  private void visit(Place place) {
    visits.merge(place.node(), 1, Integer::sum);
    notes.keySet().removeIf(noted -> timeless(noted).equals(timeless(place)));
    dropped.remove(place.node());
  }

  /** The same for every visit. */
  private static String timeless(Place place) {
    return place.toString().replaceAll("#\\d+", "");
  }

  /** A sub-flow's end is drawn inside its box, and what follows it leaves from the box. */
  private static String shape(String path) {
    return path.endsWith(OUT) ? path.substring(0, path.length() - OUT.length()) : path;
  }

  /**
   * Takes the way that leads out of a place.
   *
   * @param to where it led; null for a join
   */
  private void leave(Place place, @Nullable String to) {
    String from = shape(place.node());
    Step<?> step = graph.has(place.node()) ? graph.step(place) : null;
    String reason = broken.remove(place);
    boolean opens = to != null && to.equals(place.node() + IN);
    if (step == null || opens) {
      return;
    }
    if (reason != null && to != null) {
      take(new Way(from, to, Style.EARLY, -1));
    } else if (late.remove(place)) {
      take(from, "", Style.LATE, -1);
    } else if (!(step.route() instanceof Route.Fork)) {
      take(from, "", Style.ONWARD, matched(from));
    } else if (joined.remove(place)) {
      take(from + Drawing.JOIN, "", Style.ONWARD, -1);
    } else {
      take(from, "", Style.ONWARD, -1);
      take(from + Drawing.FORK, from + Drawing.JOIN, Style.ONWARD, -1);
      take(from + Drawing.JOIN, "", Style.ONWARD, -1);
    }
  }

  private void take(Way way) {
    taken.merge(way, 1, Integer::sum);
  }

  private void take(String from, String to, Style style, int rule) {
    take(new Way(from, to, style, rule));
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
      String path = head.place().node();
      region(e.place(), head.label()).forEach(dropped::remove);
      visit(head.place());
      for (int rule : rules(e.place(), head.label())) {
        take(from + Drawing.FORK, path, Style.ONWARD, rule);
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

  // --- branches that are given up -------------------------------------------------------------

  private void failed(Event.BranchFailed e) {
    Place fork = Objects.requireNonNull(Place.forkOf(e.place().branch()));
    String branch = e.place().branch();
    state
        .places()
        .forEach(
            (place, at) -> {
              if (Place.within(place.branch(), branch)
                  && at.phase() instanceof Phase.Halted halted) {
                notes.put(place, "failed: " + halted.code().wireName());
              }
            });
    drop(fork, Place.labelOf(branch));
  }

  private void drop(Place fork, String label) {
    dropped.addAll(region(fork, label));
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

  private boolean isDropped(String path) {
    String at =
        path.endsWith(Drawing.FORK) || path.endsWith(Drawing.JOIN)
            ? path.substring(0, path.length() - 1)
            : path;
    return dropped.contains(at)
        || (at.contains("/") && isDropped(at.substring(0, at.lastIndexOf('/'))));
  }

  // --- marking --------------------------------------------------------------------------------

  /** The drawing with this trail on it. */
  Drawing on(Drawing drawing) {
    List<Arrow> arrows = new ArrayList<>(drawing.arrows());
    taken.keySet().stream()
        .filter(way -> way.style() == Style.EARLY && drawing.shape(way.to()) != null)
        .forEach(
            way -> arrows.add(new Arrow(way.from(), way.to(), Style.EARLY, -1, List.of("early"))));
    Drawing whole = new Drawing(drawing.title(), "", drawing.shapes(), arrows);
    return whole.marked(subtitle(drawing.subtitle()), this::mark, this::mark);
  }

  private String subtitle(String before) {
    String status =
        switch (state.status()) {
          case NONE -> visits.isEmpty() ? "no run" : "abandoned";
          case ABANDONED -> "abandoned";
          case RUNNING -> state.ending() == null ? "running" : "being undone";
          case COMPLETED -> "completed";
          case CANCELLED -> "cancelled";
          case FAILED -> "failed";
        };
    String reason = state.reason();
    return before + " · " + status + (reason == null ? "" : ": " + shortened(reason));
  }

  private Arrow mark(Arrow arrow) {
    int times =
        taken.getOrDefault(way(arrow, ""), 0) + taken.getOrDefault(way(arrow, arrow.to()), 0);
    return arrow.traced(seen(arrow), times, isDropped(arrow.from()) || isDropped(arrow.to()));
  }

  private static Way way(Arrow arrow, String to) {
    return new Way(arrow.from(), to, arrow.style(), arrow.rule());
  }

  private List<String> seen(Arrow arrow) {
    String from = arrow.from();
    boolean parts = from.endsWith(Drawing.FORK);
    Event.Decided decision = decided.get(parts ? from.substring(0, from.length() - 1) : from);
    if (decision == null || arrow.rule() < 0 || arrow.rule() >= decision.tried().size()) {
      return List.of();
    }
    Event.Tried tried = decision.tried().get(arrow.rule());
    boolean threw = decision.targets().isEmpty() && arrow.rule() == decision.tried().size() - 1;
    String verdict = threw ? "failed" : tried.matched() ? "✓" : "✗";
    List<String> looks = tried.seen().stream().map(Trail::text).distinct().toList();
    return looks.isEmpty()
        ? List.of(verdict)
        : looks.stream().map(look -> verdict + " " + look).toList();
  }

  private static String text(Event.Seen seen) {
    String look = seen.what() + " = " + value(seen.is());
    String op = Objects.requireNonNullElse(seen.op(), "");
    boolean twoFields = op.contains(" ") && !op.equals(Conditions.Operator.NOT_IN.word());
    return twoFields
        ? look + ", " + op.substring(op.indexOf(' ') + 1) + " = " + value(seen.than())
        : look;
  }

  private static String value(@Nullable JsonNode value) {
    return value == null || Conditions.absent(value)
        ? "none"
        : Texts.shortened(Json.text(value), LONGEST_VALUE);
  }

  private Shape mark(Shape shape) {
    String path = shape.path();
    List<String> said = new ArrayList<>();
    Now now = Now.NOWHERE;
    Map<Place, At> places = new LinkedHashMap<>(left);
    places.putAll(state.places());
    Map<String, Integer> doing = new LinkedHashMap<>();
    for (Map.Entry<Place, At> entry : places.entrySet()) {
      if (entry.getKey().undone().node().equals(path)) {
        boolean still = state.places().containsKey(entry.getKey());
        Now here = now(entry.getValue().phase(), still);
        now = here.compareTo(now) > 0 ? here : now;
        String what = doing(entry.getKey(), entry.getValue().phase(), still);
        if (!what.isEmpty()) {
          doing.merge(what, 1, Integer::sum);
        }
      }
    }
    doing.forEach((what, times) -> said.add(times > 1 ? what + " (" + times + "×)" : what));
    said.addAll(items(path));
    notes.forEach(
        (place, note) -> {
          if (place.node().equals(path) && !said.contains(note)) {
            said.add(note);
          }
        });
    return shape.mark(new Mark(visits(shape), now, isDropped(path), List.copyOf(said)));
  }

  private int visits(Shape shape) {
    String path = shape.path();
    return shape.kind().branches()
        ? taken.entrySet().stream()
            .filter(entry -> entry.getKey().from().equals(path))
            .mapToInt(Map.Entry::getValue)
            .max()
            .orElse(0)
        : visits.getOrDefault(path, 0);
  }

  /** Of a run that has ended only what halted it is still there. */
  private static Now now(Phase phase, boolean still) {
    if (phase instanceof Phase.Halted) {
      return Now.HALTED;
    } else if (!still || phase instanceof Phase.Forked) {
      return Now.NOWHERE;
    } else if (phase instanceof Phase.Sleeping) {
      return Now.SLEEPS;
    }
    boolean waits =
        phase instanceof Phase.Asking
            || phase instanceof Phase.Showing
            || phase instanceof Phase.Awaiting;
    return waits ? Now.WAITS : Now.WORKS;
  }

  private static String doing(Place place, Phase phase, boolean still) {
    if (phase instanceof Phase.Halted halted) {
      return "halted: " + halted.code().wireName() + " – " + shortened(halted.message());
    } else if (phase instanceof Phase.Forked) {
      return "";
    } else if (!still) {
      return "left here";
    } else if (phase instanceof Phase.Asking) {
      return "waits for answers";
    } else if (phase instanceof Phase.Showing) {
      return "waits at the widget";
    } else if (phase instanceof Phase.Awaiting awaiting) {
      return "waits for " + awaiting.signal();
    } else if (phase instanceof Phase.Sleeping sleeping) {
      return "sleeps until " + Instant.ofEpochMilli(sleeping.until());
    } else if (phase instanceof Phase.Working working) {
      return working(place, working);
    }
    return "goes on";
  }

  private static String working(Place place, Phase.Working working) {
    String what =
        place.undoes() ? "is undone" : working.field() == null ? "works" : "checks an answer";
    String attempt = working.attempt() > 1 ? ", attempt " + working.attempt() : "";
    Long retry = working.retryAt();
    return retry == null ? what + attempt : "failed, tries again at " + Instant.ofEpochMilli(retry);
  }

  /** How many of a list's items are done. */
  private List<String> items(String path) {
    int all = 0;
    int done = 0;
    int failed = 0;
    for (Map.Entry<String, Phase.Forked> entry : items.entrySet()) {
      if (entry.getKey().endsWith("|" + path)) {
        Phase.Forked forked = entry.getValue();
        long arrived = forked.ended().values().stream().filter(Phase.End::arrived).count();
        all += forked.labels().size();
        done += (int) arrived;
        failed += forked.ended().size() - (int) arrived;
      }
    }
    if (all == 0) {
      return List.of();
    }
    boolean open = state.places().keySet().stream().anyMatch(place -> place.node().equals(path));
    StringBuilder text = new StringBuilder(all + (all == 1 ? " item: " : " items: "));
    text.append(done).append(" done");
    text.append(failed == 0 ? "" : ", " + failed + " failed");
    int rest = all - done - failed;
    text.append(rest == 0 ? "" : ", " + rest + (open ? " open" : " dropped"));
    return List.of(text.toString());
  }

  private static String shortened(String message) {
    return Texts.shortened(message, LONGEST_MESSAGE);
  }

  @Override
  public String toString() {
    return "A run of " + flow;
  }
}

package io.fermata.flow.replay;

import io.fermata.flow.Graph;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Compares what a run did with what it would do, from where the two part. */
final class Changes {
  private final Graph graph;
  private final Way recorded;
  private final Way now;
  private final boolean endless;
  private final Set<Change> changes = new LinkedHashSet<>();
  private final Map<Change, OtherDecision> decisions = new LinkedHashMap<>();

  /**
   * What was found.
   *
   * @param decisions the first decision of each change that is one
   */
  record Found(List<Change> changes, List<OtherDecision> decisions) {}

  /** What happens on one of the two ways. */
  private static final class Way {
    final Map<Place, Event.Decided> decisions = new HashMap<>();
    final Map<String, Event> answers = new HashMap<>();
    final Map<Put, Object> questions = new LinkedHashMap<>();
    final Map<String, Set<Place>> effects = new LinkedHashMap<>();
    final RunState end;

    Way(RunState before, List<Event> events) {
      events.forEach(this::add);
      end = end(before, events);
    }

    /** A run that parted from its journal may not know a place that the rest of that is about. */
    private static RunState end(RunState before, List<Event> events) {
      try {
        return before.apply(events);
      } catch (RuntimeException e) {
        RunState state = before;
        for (Event event : events) {
          state = after(state, event);
        }
        return state;
      }
    }

    private static RunState after(RunState state, Event event) {
      try {
        return state.apply(event);
      } catch (RuntimeException e) {
        return state;
      }
    }

    private void add(Event event) {
      if (event instanceof Event.Decided decided) {
        decisions.putIfAbsent(decided.place(), decided);
      } else if (event instanceof Event.Accepted accepted) {
        answers.putIfAbsent(accepted.place().node() + " " + accepted.field(), accepted);
      } else if (event instanceof Event.Rejected rejected) {
        answers.putIfAbsent(rejected.place().node() + " " + rejected.field(), rejected);
      } else if (event instanceof Event.Asked asked) {
        asked
            .questions()
            .forEach(
                each -> questions.putIfAbsent(new Put(asked.place().node(), each.field()), each));
      } else if (event instanceof Event.Shown shown) {
        Event.Widget widget = shown.widget();
        questions.putIfAbsent(new Put(shown.place().node(), "widget " + widget.tool()), widget);
      } else if (event instanceof Event.Attempted attempted && begins(attempted)) {
        effect(attempted.place());
      } else if (event instanceof Event.Committed committed) {
        effect(committed.place());
      } else if (event instanceof Event.Undoing undoing) {
        effect(undoing.place().undone().undo());
      }
    }

    /** Another attempt at a step is no other effect. */
    private static boolean begins(Event.Attempted attempted) {
      return attempted.field() == null && attempted.attempt() == 1;
    }

    private void effect(Place place) {
      effects.computeIfAbsent(place.node(), node -> new LinkedHashSet<>()).add(place);
    }
  }

  /** A question or a widget of a node. */
  private record Put(String node, String what) {}

  private Changes(Graph graph, Way recorded, Way now, boolean endless) {
    this.graph = graph;
    this.recorded = recorded;
    this.now = now;
    this.endless = endless;
  }

  /**
   * The changes of a run.
   *
   * @param before the state up to which both are the same
   * @param recorded what happened from there on
   * @param now what would happen
   * @param refused why what came in would be refused
   * @param node where they part
   */
  static Found of(
      Graph graph,
      RunState before,
      List<Event> recorded,
      Redecision.Onward now,
      Outcome.@Nullable Failure refused,
      String node) {
    Changes all =
        new Changes(graph, new Way(before, recorded), new Way(before, now.events()), now.endless());
    if (refused != null) {
      boolean migrates = !recorded.isEmpty() && recorded.get(0) instanceof Event.Migrated;
      all.add(migrates ? Change.Kind.MIGRATION : Change.Kind.CALL, node, refused.code());
    }
    all.compare();
    if (all.changes.isEmpty()) {
      all.add(Change.Kind.OTHER, node, "decided otherwise");
    }
    return new Found(List.copyOf(all.changes), List.copyOf(all.decisions.values()));
  }

  private void compare() {
    recorded.decisions.forEach(
        (place, was) -> {
          Event.Decided is = now.decisions.get(place);
          if (is != null && !is.targets().equals(was.targets())) {
            String text = "%s instead of %s".formatted(to(is), to(was));
            Change change = add(Change.Kind.DECISION, place.node(), text);
            decisions.putIfAbsent(change, new OtherDecision(change, was, is));
          }
        });
    recorded.answers.forEach((what, was) -> answer(was, now.answers.get(what)));
    now.questions.forEach(
        (put, is) -> {
          Object was = recorded.questions.get(put);
          if (was == null && !mayFollow(recorded, put.node())) {
            add(Change.Kind.QUESTION_ADDED, put.node(), put.what());
          } else if (was != null && !was.equals(is)) {
            add(Change.Kind.QUESTION_CHANGED, put.node(), put.what());
          }
        });
    recorded.questions.keySet().stream()
        .filter(put -> !now.questions.containsKey(put) && !mayFollow(now, put.node()))
        .forEach(put -> add(Change.Kind.QUESTION_DROPPED, put.node(), put.what()));
    more(Change.Kind.EFFECT_ADDED, now, recorded);
    more(Change.Kind.EFFECT_DROPPED, recorded, now);
    outcome();
  }

  private static String to(Event.Decided decision) {
    if (decision.targets().isEmpty()) {
      return "no way";
    }
    List<String> rules = decision.rules();
    return "to %s (%s)"
        .formatted(
            String.join(" and ", decision.targets()),
            rules.isEmpty() ? "no rule" : String.join(" and ", rules));
  }

  private void answer(Event was, @Nullable Event is) {
    if (was instanceof Event.Accepted before && is instanceof Event.Rejected) {
      add(Change.Kind.ANSWER, before.place().node(), before.field() + " is refused");
    } else if (was instanceof Event.Rejected before && is instanceof Event.Accepted) {
      add(Change.Kind.ANSWER, before.place().node(), before.field() + " is accepted");
    } else if (is != null && !was.equals(is)) {
      String field = was instanceof Event.Accepted a ? a.field() : ((Event.Rejected) was).field();
      String how = was instanceof Event.Accepted ? " is kept otherwise" : " is refused otherwise";
      add(Change.Kind.ANSWER, Objects.requireNonNull(was.place()).node(), field + how);
    }
  }

  /** Effects of which one way has more than the other will have. */
  private void more(Change.Kind kind, Way some, Way other) {
    some.effects.forEach(
        (node, places) -> {
          int difference = places.size() - other.effects.getOrDefault(node, Set.of()).size();
          if (difference > 0 && !mayFollow(other, node)) {
            add(kind, node, difference == 1 ? "once" : difference + " times");
          }
        });
  }

  /** Whether a run that has not ended may still reach a node. */
  private boolean mayFollow(Way way, String node) {
    Set<String> from = new HashSet<>();
    for (Place place : way.end.places().keySet()) {
      String at = place.undone().node();
      if (graph.has(at)) {
        from.add(at);
        from.addAll(graph.forksAround(at));
      }
      for (int slash = at.lastIndexOf('/'); slash > 0; slash = at.lastIndexOf('/', slash - 1)) {
        from.add(at.substring(0, slash));
      }
    }
    from.removeIf(each -> !graph.has(each));
    Set<String> beyond = new HashSet<>();
    from.forEach(each -> beyond.addAll(graph.targets(each)));
    return graph.reachable(beyond).contains(node);
  }

  /** The outcome of the run; a person may end it at any time, which says nothing about the code. */
  private void outcome() {
    RunState was = recorded.end;
    RunState is = now.end;
    if (endless) {
      add(Change.Kind.OTHER, "", "it sleeps much more often, and was not followed to its end");
      return;
    }
    boolean ended =
        was.status() == RunState.Status.COMPLETED || was.status() == RunState.Status.FAILED;
    if (!ended && (is.running() || !was.running())) {
      return;
    }
    if (is.status() != was.status()) {
      add(Change.Kind.OUTCOME, "", "%s instead of %s".formatted(stands(is), stands(was)));
    } else if (!Objects.equals(is.result(), was.result())) {
      add(Change.Kind.OUTCOME, "", "another result");
    } else if (!Objects.equals(is.reason(), was.reason())) {
      add(Change.Kind.OUTCOME, "", "ends for another reason");
    }
  }

  private static String stands(RunState state) {
    if (!state.running()) {
      return state.status().name().toLowerCase(Locale.ROOT);
    }
    Set<String> nodes = new TreeSet<>();
    state.places().keySet().forEach(place -> nodes.add(place.node()));
    return "still at " + String.join(", ", nodes);
  }

  private Change add(Change.Kind kind, String node, String text) {
    Change change = new Change(kind, node, text);
    changes.add(change);
    return change;
  }
}

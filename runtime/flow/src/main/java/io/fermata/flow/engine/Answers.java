package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Distinguishes an answer to an open question from an earlier one: a repeated delivery must not
 * become the answer to the next question, and an earlier answer changes only by a correction.
 */
final class Answers {
  private final Graph graph;
  private final RunState state;

  /** What can be reached from steps; most answers are to an open question and do not need it. */
  private final Map<List<String>, Set<String>> reached = new HashMap<>();

  /** What places ask for; each value of a call is compared with all of it. */
  private final Map<Place, List<String>> asked = new HashMap<>();

  Answers(Graph graph, RunState state) {
    this.graph = graph;
    this.state = state;
  }

  /** Whether the run may still reach a step that asks for a field; an item is asked for its own. */
  private boolean ahead(Step<?> asker, String field) {
    return from(asker)
        .anyMatch(
            place -> Graph.concernsAny(asker, new Place(place.branch(), asker.path(), 1), field));
  }

  /** The places from which a step is still reached. */
  private Stream<Place> from(Step<?> step) {
    return state.places().entrySet().stream()
        .filter(entry -> !entry.getKey().undoes())
        .filter(entry -> reached(entry.getKey(), entry.getValue()).contains(step.path()))
        .map(Map.Entry::getKey);
  }

  private Set<String> reached(Place place, PlaceState at) {
    return reached.computeIfAbsent(onward(place, at), graph::reachable);
  }

  /** What a fork's branches lead through, they say themselves. */
  private List<String> onward(Place place, PlaceState at) {
    return at.phase().busy() instanceof Phase.Forked forked
        ? graph.beyond(place.node(), forked.list())
        : graph.targets(place.node());
  }

  /**
   * The values for items that a list at work does not have.
   *
   * @param back where the run goes back to; a list there may get other items
   */
  List<Violation> misplaced(Set<String> fields, List<Event.Back> back) {
    List<Violation> misplaced = new ArrayList<>();
    state
        .places()
        .forEach(
            (place, at) -> {
              boolean stays =
                  back.stream().noneMatch(to -> Place.within(place.branch(), to.place().branch()));
              if (stays && at.phase().busy() instanceof Phase.Forked forked && forked.list()) {
                misplaced.addAll(misplaced(fields, place, forked.labels().size()));
              }
            });
    return misplaced;
  }

  /**
   * The values for items that a list lacks. The run has just gone back to the list and enters it
   * next, with the items of that moment; if they cannot be computed, it stops there.
   */
  List<Violation> misplacedIn(List<Event.Back> lists, Set<String> fields) {
    List<Violation> misplaced = new ArrayList<>();
    for (Event.Back list : lists) {
      if (!list.leaving()) {
        try {
          int items = items(TypedPlace.of(state, list.place(), graph));
          misplaced.addAll(items < 0 ? List.of() : misplaced(fields, list.place(), items));
        } catch (Throwable e) {
          Failures.rethrowFatal(e);
        }
      }
    }
    return misplaced;
  }

  /** The fields that were given ahead for an item that a list lacks which begins with so many. */
  List<String> misplacedAhead(Place list, int items) {
    StateMemory memory = state.memory(list.branch());
    int around = RunState.about(state.places(), list.branch()).size();
    Set<String> ahead = new LinkedHashSet<>();
    memory
        .answers()
        .forEach(
            (field, answer) -> {
              boolean ofItem = answer.about().size() > around;
              if (!ofItem && Paths.filled(Paths.get(memory.data(), field))) {
                ahead.add(field);
              }
            });
    return misplaced(ahead, list, items).stream().map(Violation::field).toList();
  }

  /** How many items a list has; -1 if the place is none. */
  private static <S extends Record> int items(TypedPlace<S> place) {
    if (!(place.step().node() instanceof Node.Each<S, ?> each)) {
      return -1;
    }
    List<?> items = each.items().apply(place.view());
    return items == null ? 0 : items.size();
  }

  private List<Violation> misplaced(Set<String> fields, Place list, int items) {
    String prefix = graph.step(list).scope().prefix(list) + list.name() + ".";
    return fields.stream()
        .filter(
            field -> field.startsWith(prefix) && !isItem(field.substring(prefix.length()), items))
        .map(field -> Violation.ofNoItem(field, items))
        .toList();
  }

  /** Whether a path begins with the number of one of so many items. */
  private static boolean isItem(String path, int items) {
    int dot = path.indexOf('.');
    String number = dot < 0 ? path : path.substring(0, dot);
    try {
      int item = Integer.parseInt(number);
      return item >= 0 && item < items && number.equals("" + item);
    } catch (NumberFormatException e) {
      return false;
    }
  }

  /** The values that would change an answer which the run has already built on. */
  List<Violation> conflicts(Map<String, JsonNode> values) {
    List<Violation> conflicts = new ArrayList<>();
    values.forEach(
        (field, value) -> {
          if (settled(field) && !known(field, value)) {
            conflicts.add(new Violation(field, "was " + before(field)));
          }
        });
    return conflicts;
  }

  private String before(String field) {
    if (leftOpen(field)) {
      return "left open";
    }
    return late(field) ? "left out before" : "answered before";
  }

  /**
   * The values without those that only repeat what the run knows. In a loop the question may come
   * again, but a repeat looks like a second delivery, so it is not kept for the next pass: asking
   * once more is safer than taking one answer for two.
   */
  Map<String, JsonNode> news(Map<String, JsonNode> values) {
    Map<String, JsonNode> news = new LinkedHashMap<>(values);
    news.entrySet().removeIf(e -> known(e.getKey(), e.getValue()) && !awaited(e.getKey()));
    return news;
  }

  /**
   * The fields of the open questions that a call leaves open: all optional ones that it does not
   * answer, once nothing that is required is open beside them. A call has to concern the pause: it
   * gives nothing at all, or names what is asked; and its sender must have seen them.
   *
   * @param named what it names, be it without a value
   * @param filled what it gives a value for
   * @param known whether its sender has seen what it names
   */
  List<String> leftOpen(Set<String> named, Set<String> filled, boolean known) {
    if (state.shown() != null) {
      return List.of();
    }
    List<String> left = new ArrayList<>();
    boolean concerned = named.isEmpty();
    for (Map.Entry<Place, PlaceState> entry : state.places().entrySet()) {
      PlaceState at = entry.getValue();
      for (Event.Question question : PauseReport.asks(at) ? at.open() : List.<Event.Question>of()) {
        boolean names = Paths.anyRelated(named, question.field());
        concerned |= names;
        if (!Paths.anyRelated(filled, question.field())) {
          if (!question.optional()) {
            return List.of();
          } else if (unchecked(entry.getKey(), question.field())
              ? names
              : (known && names) || seen(at)) {
            left.add(question.field());
          }
        }
      }
    }
    return concerned ? left : List.of();
  }

  /** Whether an answer waits for a check that failed; a call without a word of it keeps it. */
  private boolean unchecked(Place place, String field) {
    return state.memory(place.branch()).fresh(field, place.node());
  }

  private static boolean seen(PlaceState at) {
    return !(at.phase() instanceof Phase.Asking asking) || asking.seen();
  }

  private boolean leftOpen(String field) {
    return state.branches().values().stream()
        .map(branch -> branch.memory().answers().get(field))
        .anyMatch(answer -> answer != null && !Paths.filled(answer.value()));
  }

  /** Whether the run waits for an answer to the field right now. */
  boolean awaited(String field) {
    return state.places().entrySet().stream()
        .anyMatch(
            entry ->
                asks(entry.getKey(), field)
                    && !acceptedAt(entry.getValue(), field)
                    && !checkedAt(entry.getValue(), field));
  }

  /**
   * Whether an answer to the field stands: its question was passed and is not asked again, or was
   * answered in this visit. A field that nobody asks for stands once the run continued with it, or
   * without it.
   */
  private boolean settled(String field) {
    for (Map.Entry<Place, PlaceState> entry : state.places().entrySet()) {
      if (asks(entry.getKey(), field)) {
        return acceptedAt(entry.getValue(), field);
      }
    }
    List<Step<?>> askers = graph.askers(field);
    if (askers.isEmpty()) {
      return builtOn(field) || late(field);
    }
    return askers.stream().noneMatch(asker -> ahead(asker, field))
        && state.branches().values().stream()
            .anyMatch(b -> askers.stream().anyMatch(a -> b.memory().left().containsKey(a.path())));
  }

  private boolean asks(Place place, String field) {
    return !place.undoes()
        && asked.computeIfAbsent(place, at -> Graph.asked(graph.step(at), at)).stream()
            .anyMatch(path -> Paths.related(path, field));
  }

  private static boolean acceptedAt(PlaceState at, String field) {
    return at.accepted().stream().anyMatch(accepted -> Paths.related(accepted, field));
  }

  private static boolean checkedAt(PlaceState at, String field) {
    return at.phase() instanceof Phase.Working working
        && working.field() != null
        && Paths.related(working.field(), field);
  }

  /** Whether a node was left since the field was given, so that something may rest on it. */
  private boolean builtOn(String field) {
    return state.branches().values().stream().anyMatch(branch -> builtOn(branch.memory(), field));
  }

  private static boolean builtOn(StateMemory memory, String field) {
    StateMemory.Answer given = memory.answers().get(field);
    return given != null
        && Paths.filled(given.value())
        && memory.left().entrySet().stream()
            .anyMatch(e -> !e.getKey().equals(Flow.START) && e.getValue() > given.tick());
  }

  /** Whether a step may have read that a field which nobody asks for has no value. */
  boolean late(String field) {
    return graph.askers(field).isEmpty()
        && state.branches().keySet().stream()
            .anyMatch(branch -> graph.steps().stream().anyMatch(s -> missed(branch, s, field)));
  }

  /** What is entered again may still read the value then. */
  private boolean missed(String branch, Step<?> step, String field) {
    StateMemory memory = state.memory(branch);
    String start = step.scope().node(Flow.START);
    Long left = memory.left().get(step.path());
    return left != null
        && left >= memory.left().getOrDefault(start, 0L)
        && Graph.mayRead(step, new Place(branch, step.path(), 1), field)
        && !Paths.filled(Paths.get(memory.data(), field))
        && from(step).map(Place::branch).noneMatch(from -> passes(from, branch));
  }

  /** Whether a run in a branch may come to another one: that is around it, or within it. */
  private static boolean passes(String from, String to) {
    return Place.within(from, to) || Place.within(to, from);
  }

  /** Whether it is the latest value of a field; a branch may still have an earlier one. */
  private boolean known(String field, JsonNode value) {
    long latest = 0;
    for (Branch branch : state.branches().values()) {
      latest = Math.max(latest, given(branch.memory(), field));
    }
    long last = latest;
    return state.branches().values().stream()
        .map(Branch::memory)
        .anyMatch(memory -> given(memory, field) == last && known(memory, field, value));
  }

  private static long given(StateMemory memory, String field) {
    StateMemory.Answer given = memory.answers().get(field);
    return given == null ? 0 : given.tick();
  }

  private static boolean known(StateMemory memory, String field, JsonNode value) {
    StateMemory.Answer given = memory.answers().get(field);
    return (given != null && Json.same(given.value(), value))
        || Json.same(Paths.get(memory.data(), field), value);
  }
}

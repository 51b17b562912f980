package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.FieldScope;
import io.fermata.flow.Flow;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Joining;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.Route;
import io.fermata.flow.route.Rules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** How a drive continues in several branches, and how these join again. */
final class Forks {
  private final Drive drive;

  Forks(Drive drive) {
    this.drive = drive;
  }

  private RunState state() {
    return drive.state();
  }

  // --- forking --------------------------------------------------------------------------------

  void fork(Place place, FieldScope<?> scope, Route.Fork fork, Rules.Found found) {
    List<String> chosen = new ArrayList<>();
    for (Route.Arm arm : fork.arms()) {
      boolean taken = arm.rule() == null || found.targets().contains(arm.head());
      if (taken && !chosen.contains(arm.head())) {
        chosen.add(arm.head());
      }
    }
    if (chosen.isEmpty() && fork.otherwise() != null) {
      chosen.add(fork.otherwise());
    }
    if (!drive.mayVisit(place, Math.max(1, chosen.size()))) {
      return;
    }
    if (!fork.rules().isEmpty()) {
      List<String> targets = chosen.isEmpty() ? List.of(fork.join()) : chosen;
      drive.emit(new Event.Decided(place, found.tried(), List.copyOf(targets)));
    }
    if (!chosen.isEmpty()) {
      drive.emit(new Event.Forked(place, heads(place, scope, chosen), false, drive.at()));
    } else if (fork.joining().into() == null) {
      drive.move(place, scope.node(fork.join()));
    } else {
      passBy(place, fork, scope.node(fork.join()));
    }
  }

  /** Joins branches of which none was taken. */
  private void passBy(Place place, Route.Fork fork, String to) {
    try {
      joinNone(place, new Phase.Forked(List.of(), null, Map.of()), fork.joining(), to);
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.LEAVING, ErrorCode.STEP_FAILED, e);
    }
  }

  private List<Event.Head> heads(Place place, FieldScope<?> scope, List<String> nodes) {
    List<Event.Head> heads = new ArrayList<>();
    for (String node : nodes) {
      Place first = new Place(place.branch(node), scope.node(node), 1);
      boolean asks = drive.graph().step(first).asks();
      heads.add(new Event.Head(node, first, asks, null));
    }
    return heads;
  }

  /** Whether a step is the join that the branch of a place leads to. */
  boolean arrives(Place place, String target) {
    Place fork = Place.forkOf(place.branch());
    if (fork == null) {
      return false;
    }
    Step<?> step = drive.graph().step(fork);
    return step.route() instanceof Route.Fork route
        && !at(fork).list()
        && step.scope().node(route.join()).equals(target);
  }

  private Phase.Forked at(Place fork) {
    return (Phase.Forked) state().at(fork).phase().busy();
  }

  // --- joining --------------------------------------------------------------------------------

  /** Joins the first fork whose branches allow it; false if there is none. */
  boolean joins() {
    if (!state().forked()) {
      return false;
    }
    for (Map.Entry<Place, PlaceState> entry : state().places().entrySet()) {
      if (entry.getValue().phase() instanceof Phase.Forked forked
          && joins(entry.getKey(), forked)) {
        return true;
      }
    }
    return false;
  }

  private boolean joins(Place place, Phase.Forked forked) {
    Joining joining = joining(place);
    long arrived = forked.ended().values().stream().filter(Phase.End::arrived).count();
    int open = forked.open();
    int needed = joining.neededOf(forked.labels().size());
    boolean enough = joining.needed() == 0 ? open == 0 : arrived >= needed;
    if (enough) {
      join(place, forked);
      return true;
    }
    if (joining.needed() > 0 && arrived + open < needed) {
      String message =
          "Only %s of the %s branches after %s can still arrive."
              .formatted(arrived + open, needed, place.node());
      drive.halt(place, Event.Resume.JOINING, ErrorCode.JOIN_FAILED, message, "");
      return true;
    }
    return false;
  }

  private Joining joining(Place fork) {
    Step<?> step = drive.graph().step(fork);
    if (step.node() instanceof Node.Each<?, ?> each && at(fork).list()) {
      return each.joining();
    }
    return ((Route.Fork) Objects.requireNonNull(step.route())).joining();
  }

  private void join(Place place, Phase.Forked forked) {
    Step<?> step = drive.graph().step(place);
    List<String> merged =
        forked.labels().stream()
            .filter(label -> forked.ended().containsKey(label))
            .filter(label -> end(forked, label).arrived())
            .toList();
    try {
      List<Write> writes = new ArrayList<>();
      if (!forked.list()) {
        Merge.Merged merge = merge(place, step.scope(), merged);
        if (!merge.conflicts().isEmpty()) {
          conflict(place, merge.conflicts());
          return;
        }
        writes.addAll(merge.writes());
      }
      writes.addAll(outcomes(place, step, forked, joining(place)));
      String to =
          forked.list()
              ? null
              : step.scope().node(((Route.Fork) Objects.requireNonNull(step.route())).join());
      Event.Joined event = joined(place, forked.labels(), merged, writes, to, null);
      drive.requireKept(event, drive.spot(place), "The join after " + place);
      drive.emit(event);
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.JOINING, ErrorCode.STEP_FAILED, e);
    }
  }

  /** Joins a list without items. */
  void passBy(Place place) {
    Step<?> step = drive.graph().step(place);
    Joining joining = ((Node.Each<?, ?>) Objects.requireNonNull(step.node())).joining();
    joinNone(place, new Phase.Forked(List.of(), List.of(), Map.of()), joining, null);
  }

  private void joinNone(Place place, Phase.Forked none, Joining joining, @Nullable String to) {
    List<Write> writes = outcomes(place, drive.graph().step(place), none, joining);
    Event.Joined event = joined(place, List.of(), List.of(), writes, to, null);
    drive.requireKept(event, drive.spot(place), "The join after " + place);
    drive.emit(event);
  }

  private static Phase.End end(Phase.Forked forked, String label) {
    return Objects.requireNonNull(forked.ended().get(label));
  }

  private void conflict(Place place, List<String> conflicts) {
    String message =
        "Branches after %s changed the same differently: %s."
            .formatted(place.node(), String.join("; ", conflicts));
    drive.halt(
        place,
        Event.Resume.JOINING,
        ErrorCode.JOIN_CONFLICT,
        message,
        "declare a reducer for what several branches change");
  }

  private Merge.Merged merge(Place fork, FieldScope<?> scope, List<String> labels) {
    Map<String, Branch> branches = new LinkedHashMap<>();
    labels.forEach(label -> branches.put(label, state().branch(fork.branch(label))));
    String prefix = scope.prefix(fork);
    Map<String, Reducer> reducers = new LinkedHashMap<>();
    scope.flow().reducers().forEach((field, reducer) -> reducers.put(prefix + field, reducer));
    ObjectNode now = state().memory(fork.branch()).data();
    return new Merge(drive.asForked(fork), now, branches, reducers).merged();
  }

  private Event.Joined joined(
      Place fork,
      List<String> labels,
      List<String> merged,
      List<Write> writes,
      @Nullable String to,
      @Nullable String ends) {
    List<String> dropped = labels.stream().filter(label -> !merged.contains(label)).toList();
    List<Place> undo =
        undoable(
            (place, tick) ->
                dropped.stream()
                    .anyMatch(label -> Place.within(place.branch(), fork.branch(label))));
    return new Event.Joined(fork, merged, dropped, writes, undo, to, drive.at(), ends);
  }

  /** What the join itself adds: the results of a list's items, and the failures. */
  private static List<Write> outcomes(
      Place place, Step<?> step, Phase.Forked forked, Joining joining) {
    List<Write> writes = new ArrayList<>();
    String prefix = step.scope().prefix(place);
    if (forked.list() && step.node() instanceof Node.Each<?, ?> each) {
      if (each.into() != null) {
        ArrayNode results = Json.MAPPER.createArrayNode();
        forked
            .labels()
            .forEach(
                label -> {
                  Phase.End end = forked.ended().get(label);
                  JsonNode result = end == null ? null : end.result();
                  results.add(result == null ? Json.MAPPER.nullNode() : result);
                });
        writes.add(new Write(Write.Verb.SET, prefix + each.into(), results));
      }
      writes.add(new Write(Write.Verb.DELETE, prefix + each.id(), null));
    }
    String failures = joining.into();
    if (failures != null) {
      writes.add(new Write(Write.Verb.SET, prefix + failures, failures(forked)));
    }
    return writes;
  }

  private static ArrayNode failures(Phase.Forked forked) {
    ArrayNode failures = Json.MAPPER.createArrayNode();
    for (String label : forked.labels()) {
      Phase.End end = forked.ended().get(label);
      if (end != null && end.code() != null) {
        failures
            .addObject()
            .put("branch", label)
            .put("code", end.code().wireName())
            .put("message", end.message());
      }
    }
    return failures;
  }

  // --- failing --------------------------------------------------------------------------------

  /** Draws the consequences of a step that has failed for good; false if there are none. */
  boolean settleFailures() {
    for (Map.Entry<Place, PlaceState> entry : state().places().entrySet()) {
      if (entry.getValue().phase() instanceof Phase.Halted halted
          && halted.code().ofStep()
          && settleFailure(entry.getKey(), halted)) {
        return true;
      }
    }
    return false;
  }

  private boolean settleFailure(Place failed, Phase.Halted halted) {
    Place below = failed;
    for (Place.Inside inside : Place.around(failed.branch())) {
      Place fork = inside.fork();
      Joining.OnFailure onFailure = joining(fork).failure();
      if (onFailure == Joining.OnFailure.COLLECT) {
        giveUp(fork, below, halted);
        return true;
      } else if (onFailure == Joining.OnFailure.FAIL_FAST && holdBranches(fork, failed)) {
        return true;
      }
      below = fork;
    }
    if (endsOnFailure(failed)) {
      drive.emit(
          new Event.Ending(
              halted.code(), halted.message(), undoable((place, tick) -> true), drive.at()));
      return true;
    }
    return false;
  }

  private void giveUp(Place fork, Place below, Phase.Halted halted) {
    String branch = fork.branch(branchOf(below, fork));
    List<Place> undo = running(place -> Place.within(place.branch(), branch));
    drive.emit(
        new Event.BranchFailed(
            below, halted.code(), halted.message(), drive.at(), undo.isEmpty() ? null : undo));
  }

  /** A flow's word on failure holds for the flows within it, too. */
  private boolean endsOnFailure(Place failed) {
    FieldScope<?> scope = drive.graph().step(failed).scope();
    while (scope.parent() != null && !scope.flow().endsOnFailure()) {
      scope = scope.parent();
    }
    return scope.flow().endsOnFailure();
  }

  /** Stops the other branches where they are; what may run only once is left to finish. */
  private boolean holdBranches(Place fork, Place failed) {
    boolean held = false;
    for (Map.Entry<Place, PlaceState> entry : state().places().entrySet()) {
      Place place = entry.getKey();
      Phase phase = entry.getValue().phase();
      boolean other =
          !place.equals(failed)
              && Place.within(place.branch(), fork.branch(branchOf(place, fork)))
              && !Place.within(place.branch(), fork.branch(branchOf(failed, fork)));
      boolean moves = !(phase instanceof Phase.Halted) && !(phase instanceof Phase.Forked);
      if (other && moves && !busyOnce(place, phase)) {
        ErrorCode code = ErrorCode.BRANCH_CANCELLED;
        Event.Resume resume =
            phase instanceof Phase.Leaving ? Event.Resume.LEAVING : Event.Resume.ENTERING;
        drive.halt(place, resume, code, code.cause() + ".", "");
        held = true;
      }
    }
    return held;
  }

  /** The label of the branch of a fork that a place lies in; "" if it lies in none. */
  private static String branchOf(Place place, Place fork) {
    for (Place.Inside inside : Place.around(place.branch())) {
      if (inside.fork().equals(fork)) {
        return inside.label();
      }
    }
    return "";
  }

  private boolean busyOnce(Place place, Phase phase) {
    return phase instanceof Phase.Working
        && drive.graph().step(place).node() instanceof Node.Act<?> act
        && act.policy().once();
  }

  // --- undoing and breaking off ---------------------------------------------------------------

  /**
   * What is to be undone, the latest first. What is running comes before all: whether it happened
   * is not known.
   *
   * @param which chooses by place, and by the tick at which the action there committed
   */
  List<Place> undoable(BiPredicate<Place, Long> which) {
    List<Place> places = running(place -> which.test(place, Long.MAX_VALUE));
    state().done().stream()
        .filter(undo -> which.test(undo.place(), undo.tick()))
        .sorted(Comparator.comparingLong(RunState.Undo::tick).reversed())
        .map(RunState.Undo::place)
        .filter(place -> !places.contains(place))
        .forEach(places::add);
    return places;
  }

  /** Takes a flow that ends early one step nearer to its end; false if there is none. */
  boolean breaksOff() {
    for (Map.Entry<Place, PlaceState> entry : state().places().entrySet()) {
      if (entry.getValue().phase() instanceof Phase.Breaking breaking) {
        breakOff(entry.getKey(), breaking.reason());
        return true;
      }
    }
    return false;
  }

  private List<Place> running(Predicate<Place> which) {
    return state().acting().stream()
        .filter(place -> which.test(place) && drive.spot(place).undoable())
        .collect(Collectors.toCollection(ArrayList::new));
  }

  /** Leaves one fork of a flow that ends early, or the flow itself if there is none left. */
  private void breakOff(Place place, String reason) {
    FieldScope<?> scope = drive.graph().step(place).scope();
    Place fork = Place.forkOf(place.branch());
    if (fork == null || !drive.graph().step(fork).scope().path().equals(scope.path())) {
      drive.emit(new Event.Broken(place, reason, scope.node(Flow.END)));
      return;
    }
    List<String> own = List.of(Place.labelOf(place.branch()));
    try {
      Merge.Merged merge = merge(fork, scope, own);
      Event.Joined event = joined(fork, at(fork).labels(), own, merge.writes(), null, reason);
      drive.requireKept(event, drive.spot(fork), "The end after " + place);
      drive.emit(event);
    } catch (Throwable e) {
      drive.stop(place, Event.Resume.LEAVING, ErrorCode.STEP_FAILED, e);
    }
  }
}

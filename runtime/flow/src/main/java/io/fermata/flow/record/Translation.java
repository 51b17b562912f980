package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Paths;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Cause;
import io.fermata.flow.observe.Observation.Kind;
import io.fermata.flow.observe.Observation.Progression;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Observation.Wait;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.route.Route;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Tells what journaled events mean to a recorder. Most of it is read off the event; when a step
 * begins and ends, or waits, is the difference of the states before and after.
 */
final class Translation {
  private final String flow;
  private final @Nullable Graph graph;
  private final String session;
  private final Map<Place, Long> entered = new HashMap<>();
  private final Map<Place, Long> waiting = new HashMap<>();

  /** The places that wait for their branches: as a stage they have ended. */
  private final Set<Place> over = new HashSet<>();

  /** The stages that the run is at, in the state after the latest event. */
  private Set<Place> stages;

  private RunState before;
  private RunState after;
  private List<Observation> told = new ArrayList<>();
  private long seq;
  private long at;

  Translation(String flow, @Nullable Graph graph, String session, RunState state) {
    this.flow = flow;
    this.graph = graph;
    this.session = session;
    this.before = state;
    this.after = state;
    this.stages = stages(state);
    state
        .places()
        .forEach(
            (place, there) -> {
              if (forked(there.phase()) instanceof Phase.Forked forked && !forked.list()) {
                over.add(outside(state, place));
              }
            });
  }

  private static Phase forked(Phase phase) {
    return phase instanceof Phase.Halted halted ? halted.before() : phase;
  }

  RunState state() {
    return after;
  }

  /** What the events of one journal record come to. */
  List<Observation> of(long number, long recordedAt, List<Event> events) {
    told = new ArrayList<>();
    seq = number;
    long[] times = times(recordedAt, events);
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      at = times[i];
      before = after;
      after = before.apply(event);
      translate(event, i + 1 < events.size() ? events.get(i + 1) : null);
    }
    return List.copyOf(told);
  }

  /** An event that does not say when it happened happened when the next one did. */
  private static long[] times(long recordedAt, List<Event> events) {
    long[] times = new long[events.size()];
    long time = recordedAt;
    for (int i = events.size() - 1; i >= 0; i--) {
      long own = events.get(i).at();
      time = own == 0 ? time : own;
      times[i] = time;
    }
    return times;
  }

  private Occurrence moment(@Nullable Place place) {
    String run = after.runId().isEmpty() ? before.runId() : after.runId();
    Place here = place == null ? null : outside(before, place);
    return new Occurrence(flow, session, run, seq, told.size(), at, here);
  }

  /** Where a sub-flow ends, the run is back at the node that mounts it, and leaves that. */
  private static Place outside(RunState state, Place place) {
    String mount = parent(place.node());
    boolean ends = place.node().equals(mount + "/" + Flow.END) && !listed(place, mount);
    return ends ? mounting(state, place, mount) : place;
  }

  private static boolean listed(Place place, String mount) {
    return place.labelAfter(mount) != null;
  }

  /** The place of a node that mounts a sub-flow, seen from a place within that. */
  private static Place mounting(RunState state, Place within, String mount) {
    String branch = within.branch();
    for (Place fork = Place.forkOf(branch);
        fork != null && fork.node().startsWith(mount + "/") && !leavesFlow(fork, mount);
        fork = Place.forkOf(branch)) {
      branch = fork.branch();
    }
    Branch known = state.branches().get(branch);
    return new Place(branch, mount, known == null ? 1 : known.visits(mount));
  }

  private static boolean leavesFlow(Place fork, String mount) {
    return fork.node().equals(mount + "/" + Flow.END);
  }

  private void add(Observation event) {
    told.add(event);
  }

  private void translate(Event event, @Nullable Event next) {
    data(event);
    control(event, next);
    endWaits(event);
    Set<Place> was = stages;
    stages = stages(after);
    endStages(event, was);
    way(event);
    beginStages(was);
    beginWaits();
    forget();
  }

  /** A run that has ended leaves nothing behind. */
  private void forget() {
    if (!after.running()) {
      entered.clear();
      waiting.clear();
      over.clear();
    }
  }

  // --- data -----------------------------------------------------------------------------------

  private void data(Event event) {
    if (event instanceof Event.Answered e) {
      e.values().forEach((path, value) -> given(path, value, hearing(path, e.told())));
    } else if (event instanceof Event.Accepted e) {
      accepted(e);
    } else if (event instanceof Event.Rejected e) {
      JsonNode given = value(before, e.place().branch(), e.field());
      add(new Observation.Answer(moment(e.place()), e.field(), given, e.message(), null, Map.of()));
      write(e.place(), Source.VALIDATOR, new Write(Write.Verb.DELETE, e.field(), null));
    } else if (event instanceof Event.Committed e) {
      committed(e);
    } else if (event instanceof Event.Tagged e) {
      add(new Observation.Tag(moment(e.place()), e.added(), e.removed()));
    } else if (event instanceof Event.Received e) {
      add(new Observation.Signal(moment(e.place()), e.signal(), true, e.field(), e.payload()));
      if (e.field() != null && e.payload() != null) {
        Write write = new Write(Write.Verb.SET, e.field(), e.payload());
        write(e.place(), Source.SIGNAL, write);
      }
    }
  }

  /** The branches that alone are told of a field; null for all. */
  private static @Nullable List<String> hearing(
      String field, @Nullable Map<String, List<String>> told) {
    return told == null ? null : told.get(field);
  }

  private void given(String path, JsonNode value, @Nullable List<String> branches) {
    Write write =
        Paths.filled(value)
            ? new Write(Write.Verb.SET, path, value)
            : new Write(Write.Verb.DELETE, path, null);
    if (branches == null) {
      write(null, Source.CLIENT, write);
    } else {
      branches.forEach(branch -> write(in(branch), Source.CLIENT, write));
    }
  }

  /** Where a branch is; one that has reached its join is where it began. */
  private @Nullable Place in(String branch) {
    Place fork = Place.forkOf(branch);
    return after.places().keySet().stream()
        .filter(place -> place.branch().equals(branch))
        .findFirst()
        .orElse(fork == null ? null : new Place(branch, fork.node(), fork.visit()));
  }

  private void write(@Nullable Place place, Source source, Write write) {
    add(new Observation.Written(moment(place), source, write.verb(), write.path(), write.value()));
  }

  private void accepted(Event.Accepted e) {
    JsonNode given = value(before, e.place().branch(), e.field());
    add(new Observation.Answer(moment(e.place()), e.field(), given, null, e.value(), e.sets()));
    if (e.value() != null) {
      write(e.place(), Source.VALIDATOR, new Write(Write.Verb.SET, e.field(), e.value()));
    }
    e.sets()
        .forEach(
            (path, value) ->
                write(e.place(), Source.VALIDATOR, new Write(Write.Verb.SET, path, value)));
  }

  private void committed(Event.Committed e) {
    for (String path : e.reads()) {
      JsonNode value = value(before, e.place().branch(), path);
      add(new Observation.Read(moment(e.place()), path, value));
    }
    e.writes().forEach(write -> write(e.place(), Source.ACTION, write));
    for (Event.Emitted emitted : e.emitted()) {
      if (!emitted.toCaller()) {
        add(new Observation.Emit(moment(e.place()), emitted.name(), emitted.payload()));
      }
    }
    add(new Observation.Commit(moment(e.place()), e.writes(), e.reads(), since(e.place())));
  }

  /** How long a place has been at what it does. */
  private long since(Place place) {
    PlaceState there = before.places().get(place);
    return there == null ? 0 : Math.max(0, at - there.since());
  }

  private static @Nullable JsonNode value(RunState state, String branch, String path) {
    Branch known = state.branches().get(branch);
    if (known == null) {
      return null;
    }
    ObjectNode data = known.memory().data();
    JsonNode value = path.isEmpty() ? data : Paths.get(data, path);
    return value.isMissingNode() || value.isNull() ? null : value;
  }

  // --- control --------------------------------------------------------------------------------

  private void control(Event event, @Nullable Event next) {
    if (event instanceof Event.Started e) {
      Map<String, JsonNode> input = next instanceof Event.Answered a ? a.values() : Map.of();
      add(new Observation.RunStart(moment(null), e.version(), e.intent(), input));
    } else if (event instanceof Event.Attempted e) {
      add(new Observation.Attempt(moment(e.place()), e.field(), e.attempt()));
    } else if (event instanceof Event.AttemptFailed e) {
      add(
          new Observation.StageRetry(
              moment(e.place()),
              e.attempt(),
              e.code(),
              e.message(),
              e.detail(),
              since(e.place()),
              Math.max(0, e.retryAt() - at)));
    } else if (event instanceof Event.Decided e) {
      decided(e, next);
    } else if (event instanceof Event.BranchFailed e) {
      String label = Place.labelOf(e.place().branch());
      add(new Observation.BranchFailed(moment(e.place()), label, e.code(), e.message()));
    } else if (event instanceof Event.Opened e) {
      opened(e);
    } else if (event instanceof Event.Closed e) {
      closed(e);
    } else if (event instanceof Event.Broken e) {
      int slash = e.end().lastIndexOf('/');
      String subflow = slash < 0 ? "" : e.end().substring(0, slash);
      add(new Observation.Break(moment(e.place()), subflow, e.reason()));
    } else if (event instanceof Event.Stopped e) {
      // A step that is held because another one failed has not failed itself.
      if (e.code() != ErrorCode.BRANCH_CANCELLED) {
        add(new Observation.Failure(moment(e.place()), e.code(), e.message(), e.detail(), null));
      }
    } else if (event instanceof Event.Signalled e) {
      add(new Observation.Signal(moment(null), e.signal(), false, null, e.payload()));
    } else if (event instanceof Event.Reminding e) {
      add(new Observation.Reminder(moment(e.place()), e.number(), Progression.BEGUN, null, null));
    } else if (event instanceof Event.Reminded e) {
      Progression progression = e.failure() == null ? Progression.DONE : Progression.FAILED;
      add(
          new Observation.Reminder(
              moment(e.place()), e.number(), progression, e.failure(), e.next()));
    } else if (event instanceof Event.Undoing e) {
      add(new Observation.Compensation(moment(e.place()), Progression.BEGUN));
    } else if (event instanceof Event.Undone e) {
      add(new Observation.Compensation(moment(e.place()), Progression.DONE));
    } else if (event instanceof Event.Skipped e && e.place().undoes()) {
      add(new Observation.Compensation(moment(e.place().undone()), Progression.SKIPPED));
    } else if (event instanceof Event.Ending e) {
      add(new Observation.RunEnding(moment(null), e.code(), e.message(), e.undo()));
    } else if (event instanceof Event.Reset e) {
      reset(e);
    } else if (event instanceof Event.Migrated e) {
      migrated(e);
    }
  }

  private void migrated(Event.Migrated e) {
    Map<Place, Place> places = new LinkedHashMap<>();
    e.places().forEach(carried -> places.put(carried.from(), carried.to()));
    add(new Observation.Migrated(moment(null), e.from(), e.to(), e.nodes(), e.fields(), places));
    for (String branch : after.branches().keySet()) {
      changes(branch, "").values().forEach(write -> write(in(branch), Source.MIGRATION, write));
    }
  }

  private void decided(Event.Decided e, @Nullable Event next) {
    boolean selects = next instanceof Event.Forked;
    if (graph != null && graph.has(e.place().node())) {
      selects = graph.step(e.place()).route() instanceof Route.Fork;
    }
    if (selects && !e.targets().isEmpty()) {
      add(new Observation.Selected(moment(e.place()), e.targets(), e.tried()));
      return;
    }
    String rule =
        e.tried().stream()
            .filter(Event.Tried::matched)
            .map(Event.Tried::rule)
            .findFirst()
            .orElse(null);
    String chosen = e.targets().isEmpty() ? null : e.targets().get(0);
    add(new Observation.Decision(moment(e.place()), chosen, rule, e.tried()));
  }

  private void opened(Event.Opened e) {
    String node = e.place().node();
    String subflow = node.endsWith("/" + Flow.START) ? parent(node) : node;
    add(new Observation.SubflowEntry(moment(e.place()), subflow, e.scope(), e.input(), e.kept()));
    Map<String, Write> stale = changes(e.place().branch(), e.scope());
    stale.keySet().removeIf(path -> Paths.anyRelated(e.input().keySet(), path));
    stale.values().forEach(write -> write(e.place(), Source.INPUT, write));
    e.input()
        .forEach(
            (path, value) ->
                write(e.place(), Source.INPUT, new Write(Write.Verb.SET, path, value)));
  }

  private void closed(Event.Closed e) {
    String subflow = parent(e.place().node());
    add(new Observation.SubflowExit(moment(e.place()), subflow, e.scope(), e.writes(), e.result()));
    write(e.place(), Source.OUTPUT, new Write(Write.Verb.DELETE, e.scope(), null));
    e.writes().forEach(write -> write(e.place(), Source.OUTPUT, write));
  }

  private static String parent(String node) {
    return node.substring(0, Math.max(0, node.lastIndexOf('/')));
  }

  /**
   * What goes back to what it was is told as writes, so that writes always tell the whole state.
   */
  private void reset(Event.Reset e) {
    List<Place> to = e.to().stream().map(Event.Back::place).toList();
    add(new Observation.Reset(moment(null), to, e.corrected(), e.undo()));
    for (Place place : to) {
      Map<String, Write> restored = changes(place.branch(), "");
      restored.keySet().removeIf(path -> Paths.anyRelated(e.corrected().keySet(), path));
      restored.values().forEach(write -> write(place, Source.RESET, write));
    }
    e.corrected().forEach((path, value) -> given(path, value, corrected(e, path)));
  }

  /** A branch that goes back ends those within it, and hears what they would. */
  private static @Nullable List<String> corrected(Event.Reset e, String field) {
    List<String> alone = hearing(field, e.told());
    if (alone == null) {
      return null;
    }
    return alone.stream()
        .map(
            branch ->
                e.to().stream()
                    .map(back -> back.place().branch())
                    .filter(back -> Place.within(branch, back))
                    .findFirst()
                    .orElse(branch))
        .distinct()
        .toList();
  }

  /** How a branch's data changed under a path, field by field. */
  private Map<String, Write> changes(String branch, String under) {
    Map<String, Write> changes = new LinkedHashMap<>();
    Branch old = before.branches().get(branch);
    Branch now = after.branches().get(branch);
    if (old != null && now != null) {
      JsonNode was = under.isEmpty() ? old.memory().data() : Paths.get(old.memory().data(), under);
      JsonNode is = under.isEmpty() ? now.memory().data() : Paths.get(now.memory().data(), under);
      children(under.isEmpty() ? "" : under + ".", was, is, changes);
    }
    return changes;
  }

  private static void children(
      String prefix, JsonNode was, JsonNode is, Map<String, Write> changes) {
    Set<String> names = new LinkedHashSet<>();
    was.fieldNames().forEachRemaining(names::add);
    is.fieldNames().forEachRemaining(names::add);
    names.forEach(name -> compare(prefix + name, was.path(name), is.path(name), changes));
  }

  @SuppressWarnings("ReferenceEquality") // trees are shared: the same one has not changed
  private static void compare(String path, JsonNode was, JsonNode is, Map<String, Write> changes) {
    if (was == is) {
      return;
    }
    if (was.isObject() && is.isObject()) {
      children(path + ".", was, is, changes);
    } else if (is.isMissingNode()) {
      changes.put(path, new Write(Write.Verb.DELETE, path, null));
    } else if (!is.equals(was)) {
      changes.put(path, new Write(Write.Verb.SET, path, is));
    }
  }

  // --- the way through the graph --------------------------------------------------------------

  private void way(Event event) {
    if (event instanceof Event.Moved e) {
      if (loops(e)) {
        add(new Observation.Loop(moment(e.from()), e.to(), e.to().visit()));
      } else {
        add(new Observation.Next(moment(e.from()), e.to()));
      }
    } else if (event instanceof Event.Forked e) {
      add(new Observation.Fork(moment(e.place()), e.heads(), e.list()));
    } else if (event instanceof Event.Arrived e) {
      add(new Observation.Arrival(moment(e.place())));
    } else if (event instanceof Event.Joined e) {
      boolean list = lists(e.place());
      add(
          new Observation.Join(
              moment(e.place()), list, e.merged(), e.dropped(), e.writes(), e.undo()));
      e.writes().forEach(write -> write(e.place(), Source.JOIN, write));
    } else if (event instanceof Event.Completed e) {
      ended(RunState.Status.COMPLETED, e.result(), e.reason());
    } else if (event instanceof Event.Cancelled) {
      ended(RunState.Status.CANCELLED, null, null);
    } else if (event instanceof Event.Expired) {
      ended(RunState.Status.EXPIRED, null, null);
    } else if (event instanceof Event.Abandoned) {
      ended(RunState.Status.ABANDONED, null, null);
    } else if (event instanceof Event.Failed e) {
      add(new Observation.RunFailed(moment(null), e.code(), e.message(), lived()));
    }
  }

  private boolean lists(Place fork) {
    PlaceState there = before.places().get(fork);
    return there != null && !(forked(there.phase()) instanceof Phase.Forked f && !f.list());
  }

  private boolean loops(Event.Moved e) {
    if (graph != null && graph.has(e.from().node())) {
      return graph.leadsBack(e.from().node(), e.to().node());
    }
    return e.to().visit() > e.from().visit();
  }

  private void ended(RunState.Status status, @Nullable JsonNode result, @Nullable String reason) {
    add(new Observation.RunEnd(moment(null), status, result, reason, lived()));
  }

  private long lived() {
    return Math.max(0, at - before.startedAt());
  }

  // --- stages ---------------------------------------------------------------------------------

  /** What begins and ends a flow is no stage, and undoing is told as such. */
  private static boolean stage(Place place) {
    return !place.undoes() && place.declared();
  }

  private Kind kind(Place place) {
    Node<?> node = graph == null || !graph.has(place.node()) ? null : graph.step(place).node();
    return node == null ? Kind.UNKNOWN : node.kind();
  }

  /** What the run is at, the nodes that mount a sub-flow before what is in it. */
  private static Set<Place> stages(RunState state) {
    Set<Place> stages = new LinkedHashSet<>();
    for (Place place : state.places().keySet()) {
      if (!place.undoes()) {
        addMounts(state, place, stages);
        if (stage(place)) {
          stages.add(place);
        }
      }
    }
    return stages;
  }

  private static void addMounts(RunState state, Place place, Set<Place> stages) {
    String node = place.node();
    for (int slash = node.indexOf('/'); slash >= 0; slash = node.indexOf('/', slash + 1)) {
      String mount = node.substring(0, slash);
      if (!listed(place, mount)) {
        stages.add(mounting(state, place, mount));
      }
    }
  }

  private void endStages(Event event, Set<Place> was) {
    Place forked =
        event instanceof Event.Forked fork && !fork.list() ? outside(before, fork.place()) : null;
    Place left = left(event);
    List<Place> innerFirst = new ArrayList<>(was);
    Collections.reverse(innerFirst);
    for (Place place : innerFirst) {
      boolean gone = !stages.contains(place);
      if (gone && over.remove(place)) {
        continue;
      }
      boolean forks = place.equals(forked);
      if (gone || forks) {
        endStage(place, forks || place.equals(left));
      }
      if (forks) {
        over.add(place);
      }
    }
  }

  /** The stage that is done with an event. */
  private @Nullable Place left(Event event) {
    if (event instanceof Event.Moved moved) {
      return outside(before, moved.from());
    }
    return event instanceof Event.Arrived arrived ? outside(before, arrived.place()) : null;
  }

  private void endStage(Place place, boolean done) {
    waiting.remove(place);
    Long start = begun(place);
    Long millis = start == null ? null : Math.max(0, at - start);
    Kind kind = kind(place);
    add(new Observation.StageEnd(moment(place), kind, done, millis));
    if (done) {
      add(new Observation.StageExecuted(moment(place), kind));
    }
  }

  /** When a stage began; of one that was begun unwatched, when it began to wait or to work. */
  private @Nullable Long begun(Place place) {
    Long start = entered.remove(place);
    PlaceState there = before.places().get(place);
    return start != null || there == null ? start : Long.valueOf(there.since());
  }

  private void beginStages(Set<Place> was) {
    for (Place place : stages) {
      if (!was.contains(place)) {
        entered.put(place, at);
        add(new Observation.StageStart(moment(place), kind(place)));
      }
    }
  }

  // --- waiting --------------------------------------------------------------------------------

  private static @Nullable Wait wait(@Nullable PlaceState at) {
    if (at == null) {
      return null;
    }
    Phase phase = at.phase();
    if (phase instanceof Phase.Asking) {
      return at.open().isEmpty() ? null : Wait.ANSWER;
    } else if (phase instanceof Phase.Showing showing) {
      String field = showing.widget().field();
      return field != null && at.accepted().contains(field) ? null : Wait.WIDGET;
    } else if (phase instanceof Phase.Awaiting) {
      return Wait.SIGNAL;
    } else if (phase instanceof Phase.Sleeping) {
      return Wait.TIME;
    }
    return phase instanceof Phase.Halted ? Wait.REPAIR : null;
  }

  private void endWaits(Event event) {
    before
        .places()
        .forEach(
            (place, there) -> {
              Wait was = wait(there);
              if (was == null || was == wait(after.places().get(place))) {
                return;
              }
              long begun = Objects.requireNonNullElse(waiting.remove(place), there.since());
              boolean gone = !after.places().containsKey(place);
              long waited = Math.max(0, at - begun);
              add(new Observation.Resume(moment(place), was, cause(event, gone), waited));
            });
  }

  private static Cause cause(Event event, boolean gone) {
    if (event instanceof Event.Received) {
      return Cause.SIGNALLED;
    } else if (event instanceof Event.Woken) {
      return Cause.WOKEN;
    } else if (event instanceof Event.Overdue) {
      return Cause.OVERDUE;
    } else if (event instanceof Event.Retried) {
      return Cause.RETRIED;
    } else if (event instanceof Event.Skipped) {
      return Cause.SKIPPED;
    } else if (event instanceof Event.Migrated) {
      return Cause.GIVEN_UP;
    }
    boolean answered = event instanceof Event.Moved || !gone;
    return answered && !(event instanceof Event.Stopped) ? Cause.ANSWERED : Cause.GIVEN_UP;
  }

  private void beginWaits() {
    after
        .places()
        .forEach(
            (place, there) -> {
              Wait now = wait(there);
              if (now != null && now != wait(before.places().get(place))) {
                waiting.put(place, at);
                add(pause(place, there, now));
              }
            });
  }

  private Observation pause(Place place, PlaceState there, Wait wait) {
    Phase phase = there.phase();
    if (phase instanceof Phase.Sleeping sleeping) {
      return new Observation.Sleep(moment(place), sleeping.until());
    }
    boolean asks = wait == Wait.ANSWER;
    Phase.Halted halted = phase instanceof Phase.Halted h ? h : null;
    return new Observation.Pause(
        moment(place),
        wait,
        asks ? there.open() : List.of(),
        asks ? there.context() : null,
        phase instanceof Phase.Showing showing ? showing.widget() : null,
        phase instanceof Phase.Awaiting awaiting ? awaiting.signal() : null,
        halted == null ? null : halted.code(),
        halted == null ? null : halted.message(),
        there.deadline());
  }
}

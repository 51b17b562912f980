package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Step;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fact;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Violation;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Cause;
import io.fermata.flow.observe.Observation.Kind;
import io.fermata.flow.observe.Observation.Progression;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Observation.Wait;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.route.Route;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Folds a journal into the facts that recorders get. Most events are facts as they are; when a step
 * begins and ends, or waits, is the difference of the states before and after.
 */
final class ObservationFold {
  private static final Map<Class<?>, RunState.Status> ENDS =
      Map.of(
          Event.Completed.class, RunState.Status.COMPLETED,
          Event.Cancelled.class, RunState.Status.CANCELLED,
          Event.Expired.class, RunState.Status.EXPIRED,
          Event.Abandoned.class, RunState.Status.ABANDONED);

  /** Steps of the way through the graph: what they leave has ended before they happen. */
  private static final Set<Class<?>> WAY =
      Set.of(
          Event.Moved.class,
          Event.Forked.class,
          Event.Arrived.class,
          Event.Joined.class,
          Event.Failed.class);

  /** What ends a wait, where it is not an answer. */
  private static final Map<Class<?>, Cause> CAUSES =
      Map.of(
          Event.Received.class, Cause.SIGNALLED,
          Event.Woken.class, Cause.WOKEN,
          Event.DeadlinePassed.class, Cause.DEADLINE,
          Event.Retried.class, Cause.RETRIED,
          Event.Skipped.class, Cause.SKIPPED,
          Event.Migrated.class, Cause.ABANDONED,
          Event.Stopped.class, Cause.ABANDONED);

  private final String flow;
  private final Graph graph;
  private final String session;
  private final Map<Place, Long> entered = new HashMap<>();
  private final Map<Place, Long> waiting = new HashMap<>();

  /** The places that wait for their branches: as a stage they have ended. */
  private final Set<Place> over = new HashSet<>();

  /** The stages that the run is at, in the state after the latest event. */
  private Set<Place> stages;

  private RunState before;
  private RunState after;
  private List<Observation> facts = new ArrayList<>();
  private long seq;
  private long at;
  private boolean inherited;

  ObservationFold(Flow<?> flow, String session, RunState state) {
    this.flow = flow.id();
    this.graph = flow.graph();
    this.session = session;
    this.before = state;
    this.after = state;
    this.stages = stages(state);
    state.places().entrySet().stream()
        .filter(there -> forked(there.getValue()))
        .forEach(there -> over.add(outside(state, there.getKey())));
  }

  /** Whether a place waits for branches that are not the items of a list. */
  private static boolean forked(PlaceState there) {
    return there.phase().busy() instanceof Phase.Forked forked && !forked.list();
  }

  RunState state() {
    return after;
  }

  /** The observations of an entry of the journal. */
  ObservedEntry of(long number, long recordedAt, List<Event> events) {
    RunState first = after;
    facts = new ArrayList<>();
    seq = number;
    long[] times = times(recordedAt, events);
    boolean[] ofSource = ofSource(events);
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      at = times[i];
      inherited = ofSource[i];
      before = after;
      after = before.apply(event);
      observe(event, i + 1 < events.size() ? events.get(i + 1) : null);
    }
    return new ObservedEntry(first, events, List.copyOf(facts));
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

  /** A fork begins with all that happened to its source since that one started. */
  private static boolean[] ofSource(List<Event> events) {
    boolean[] ofSource = new boolean[events.size()];
    boolean source = false;
    for (int i = events.size() - 1; i >= 0; i--) {
      ofSource[i] = source;
      Event event = events.get(i);
      source = event instanceof Event.ForkedFrom || (source && !(event instanceof Event.Started));
    }
    return ofSource;
  }

  private void add(@Nullable Place place, Fact fact) {
    add(place, fact, null);
  }

  private void add(@Nullable Place place, Fact fact, @Nullable Long millis) {
    String run = after.runId().isEmpty() ? before.runId() : after.runId();
    Place here = place == null ? null : outside(before, place);
    Kind kind = here == null ? Kind.UNKNOWN : kind(here.undone());
    Occurrence moment =
        new Occurrence(flow, session, run, seq, facts.size(), at, here, kind, millis, inherited);
    facts.add(new Observation(moment, fact));
  }

  private Kind kind(Place place) {
    Step<?> step = step(place);
    return step == null || step.node() == null ? Kind.UNKNOWN : step.node().kind();
  }

  /** The step of a place; null if another version of the flow has it. */
  private @Nullable Step<?> step(Place place) {
    return graph.has(place.node()) ? graph.step(place) : null;
  }

  /** Where a sub-flow ends, the run is back at the node that mounts it, and leaves that. */
  private static Place outside(RunState state, Place place) {
    String mount = place.mount();
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

  private void observe(Event event, @Nullable Event next) {
    boolean way = WAY.contains(event.getClass()) || ENDS.containsKey(event.getClass());
    if (!way) {
      occurred(event, next);
    }
    endWaits(event);
    Set<Place> was = stages;
    stages = stages(after);
    endStages(event, was);
    if (way) {
      occurred(event, next);
    }
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

  // --- what occurred --------------------------------------------------------------------------

  private void occurred(Event event, @Nullable Event next) {
    Place place = event.place();
    if (event instanceof Event.Committed e) {
      committed(e);
    } else if (event instanceof Event.AttemptFailed e) {
      add(place, e, since(e.place()));
    } else if (event instanceof Event.Decided e) {
      add(place, selects(e, next) ? new Observation.Selected(e) : e);
    } else if (event instanceof Event.Moved e) {
      int pass = after.passes(e.to().branch(), e.to().node());
      add(place, loops(e, pass) ? new Observation.Loop(e, pass) : e);
    } else if (event instanceof Event.Joined e) {
      add(place, new Observation.Join(e, lists(e)));
      e.writes().forEach(write -> write(e.place(), Source.JOIN, write));
    } else if (event instanceof Event.Failed e) {
      add(null, e, lived());
    } else if (Observation.hasHook(event)) {
      add(place, event);
      written(event);
    } else if (!asked(event)) {
      progressed(event, next);
    }
  }

  /** What recorders get as writes, so that the writes always give the whole state. */
  private void written(Event event) {
    if (event instanceof Event.Passed e) {
      passed(e);
    } else if (event instanceof Event.Opened e) {
      opened(e);
    } else if (event instanceof Event.Closed e) {
      write(e.place(), Source.OUTPUT, new Write(Write.Verb.DELETE, e.scope(), null));
      e.writes().forEach(write -> write(e.place(), Source.OUTPUT, write));
    } else if (event instanceof Event.Reset e) {
      reset(e);
    } else if (event instanceof Event.Migrated) {
      for (String branch : after.branches().keySet()) {
        changes(in(branch), Source.MIGRATION, branch, "", Set.of());
      }
    }
  }

  private void passed(Event.Passed e) {
    if (e.value() != null) {
      set(e.place(), Source.PASSED, e.field(), e.value());
    } else if (value(e.place(), e.field()) != null) {
      write(e.place(), Source.PASSED, new Write(Write.Verb.DELETE, e.field(), null));
    }
  }

  private boolean asked(Event event) {
    if (event instanceof Event.Answered e) {
      e.values().forEach((path, value) -> given(path, value, recipientsOf(path, e.recipients())));
    } else if (event instanceof Event.Accepted e) {
      answer(e.place(), e.field(), null, e.value(), e.sets());
      if (e.value() != null) {
        set(e.place(), Source.VALIDATOR, e.field(), e.value());
      }
      e.sets().forEach((path, value) -> set(e.place(), Source.VALIDATOR, path, value));
    } else if (event instanceof Event.Rejected e) {
      answer(e.place(), e.field(), e.message(), null, Map.of());
      write(e.place(), Source.VALIDATOR, new Write(Write.Verb.DELETE, e.field(), null));
    } else if (event instanceof Event.Misplaced e) {
      for (String field : e.fields()) {
        String refusal = Violation.ofNoItem(field, e.items()).message();
        answer(e.place(), field, refusal, null, Map.of());
        write(e.place(), Source.VALIDATOR, new Write(Write.Verb.DELETE, field, null));
      }
    } else if (event instanceof Event.Postponed e) {
      changes(e.place(), Source.PASSED, e.place().branch(), "", Set.of());
    } else if (event instanceof Event.Signalled e) {
      add(null, new Observation.Signal(e.signal(), false, null, e.payload()));
    } else if (event instanceof Event.Received e) {
      add(e.place(), new Observation.Signal(e.signal(), true, e.field(), e.payload()));
      if (e.field() != null && e.payload() != null) {
        set(e.place(), Source.SIGNAL, e.field(), e.payload());
      }
    } else {
      return false;
    }
    return true;
  }

  private long lived() {
    return Math.max(0, at - before.startedAt());
  }

  private void progressed(Event event, @Nullable Event next) {
    RunState.Status ended = ENDS.get(event.getClass());
    if (ended != null) {
      JsonNode result = event instanceof Event.Completed e ? e.result() : null;
      String reason = event instanceof Event.Completed e ? e.reason() : null;
      add(null, new Observation.RunEnd(ended, result, reason), lived());
    } else if (event instanceof Event.Started e) {
      Map<String, JsonNode> input = next instanceof Event.Answered a ? a.values() : Map.of();
      add(null, new Observation.RunStart(e.version(), e.intent(), input));
    } else if (event instanceof Event.ForkedFrom e) {
      add(null, new Observation.Fork(e.origin()));
    } else if (event instanceof Event.Stopped e) {
      // A step that is held because another one failed has not failed itself.
      if (e.code() != ErrorCode.BRANCH_CANCELLED) {
        add(e.place(), new Observation.Failure(e.code(), e.message(), e.detail(), null));
      }
    } else if (event instanceof Event.Reminding e) {
      add(e.place(), new Observation.Reminder(e.number(), Progression.BEGUN, null, null));
    } else if (event instanceof Event.Reminded e) {
      Progression progression = e.failure() == null ? Progression.DONE : Progression.FAILED;
      add(e.place(), new Observation.Reminder(e.number(), progression, e.failure(), e.next()));
    } else if (event instanceof Event.Undoing e) {
      add(e.place(), new Observation.Compensation(Progression.BEGUN));
    } else if (event instanceof Event.Undone e) {
      add(e.place(), new Observation.Compensation(Progression.DONE));
    } else if (event instanceof Event.Skipped e && e.place().undoes()) {
      add(e.place().undone(), new Observation.Compensation(Progression.SKIPPED));
    }
  }

  private void committed(Event.Committed e) {
    for (String path : e.reads()) {
      add(e.place(), new Observation.Read(path, value(e.place(), path)));
    }
    e.writes().forEach(write -> write(e.place(), Source.ACTION, write));
    e.emitted().stream()
        .filter(emitted -> !emitted.toCaller())
        .forEach(emitted -> add(e.place(), emitted));
    add(e.place(), e, since(e.place()));
  }

  private void answer(
      Place place,
      String field,
      @Nullable String refusal,
      @Nullable JsonNode normalised,
      Map<String, JsonNode> sets) {
    JsonNode given = value(place, field);
    add(place, new Observation.Answer(field, given, refusal, normalised, sets));
  }

  /** How long a place has been at what it does. */
  private long since(Place place) {
    PlaceState there = before.places().get(place);
    return there == null ? 0 : millis(there.since());
  }

  /** How long it took what ends now; of a fork, since it began. */
  private long millis(long start) {
    return Math.max(0, at - Math.max(start, before.startedAt()));
  }

  /** What a place knew before. */
  private @Nullable JsonNode value(Place place, String path) {
    Branch known = before.branches().get(place.branch());
    if (known == null) {
      return null;
    }
    ObjectNode data = known.memory().data();
    JsonNode value = path.isEmpty() ? data : Paths.get(data, path);
    return value.isMissingNode() || value.isNull() ? null : value;
  }

  private boolean selects(Event.Decided e, @Nullable Event next) {
    Step<?> step = step(e.place());
    boolean known = step != null && step.route() instanceof Route.Fork;
    return !e.targets().isEmpty() && (step == null ? next instanceof Event.Forked : known);
  }

  /** Whether it is a list that joins: the run continues on the ordinary way out of its node. */
  private boolean lists(Event.Joined e) {
    PlaceState there = before.places().get(e.place());
    return there != null && !forked(there) && e.to() == null;
  }

  private boolean loops(Event.Moved e, int pass) {
    if (step(e.from()) != null) {
      return graph.leadsBack(e.from().node(), e.to().node());
    }
    return pass > 1 && e.to().visit() > e.from().visit();
  }

  // --- writes ---------------------------------------------------------------------------------

  private void write(@Nullable Place place, Source source, Write write) {
    add(place, new Observation.Written(source, write));
  }

  private void set(Place place, Source source, String path, JsonNode value) {
    write(place, source, new Write(Write.Verb.SET, path, value));
  }

  /** The only branches that get the value of a field; null for all. */
  private static @Nullable List<String> recipientsOf(
      String field, @Nullable Map<String, List<String>> recipients) {
    return recipients == null ? null : recipients.get(field);
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

  private void opened(Event.Opened e) {
    changes(e.place(), Source.INPUT, e.place().branch(), e.scope(), e.input().keySet());
    e.input().forEach((path, value) -> set(e.place(), Source.INPUT, path, value));
  }

  private void reset(Event.Reset e) {
    for (Event.Back back : e.to()) {
      Place to = back.place();
      changes(to, Source.RESET, to.branch(), "", e.corrected().keySet());
    }
    e.corrected().forEach((path, value) -> given(path, value, corrected(e, path)));
  }

  /** A branch that goes back ends those within it, and receives their corrections. */
  private static @Nullable List<String> corrected(Event.Reset e, String field) {
    List<String> alone = recipientsOf(field, e.recipients());
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

  /** How a branch's data changed under a path, without what is a fact of its own. */
  private void changes(
      @Nullable Place place, Source source, String branch, String under, Set<String> except) {
    Branch old = before.branches().get(branch);
    Branch now = after.branches().get(branch);
    if (old != null && now != null) {
      List<Write> changes = new ArrayList<>();
      String prefix = under.isEmpty() ? "" : under + ".";
      children(prefix, within(old, under), within(now, under), changes);
      changes.removeIf(write -> Paths.anyRelated(except, write.path()));
      changes.forEach(write -> write(place, source, write));
    }
  }

  private static JsonNode within(Branch branch, String path) {
    ObjectNode data = branch.memory().data();
    return path.isEmpty() ? data : Paths.get(data, path);
  }

  private static void children(String prefix, JsonNode was, JsonNode is, List<Write> changes) {
    Set<String> names = new LinkedHashSet<>();
    was.fieldNames().forEachRemaining(names::add);
    is.fieldNames().forEachRemaining(names::add);
    names.forEach(name -> compare(prefix + name, was.path(name), is.path(name), changes));
  }

  @SuppressWarnings("ReferenceEquality") // trees are shared: the same one has not changed
  private static void compare(String path, JsonNode was, JsonNode is, List<Write> changes) {
    if (was == is) {
      return;
    }
    if (was.isObject() && is.isObject() && dotless(was) && dotless(is)) {
      children(path + ".", was, is, changes);
    } else if (is.isMissingNode()) {
      changes.add(new Write(Write.Verb.DELETE, path, null));
    } else if (!is.equals(was)) {
      changes.add(new Write(Write.Verb.SET, path, is));
    }
  }

  /**
   * Whether the parts have paths: a key of a map may have dots, and its value is read as a whole.
   */
  private static boolean dotless(JsonNode object) {
    return object.properties().stream().noneMatch(e -> e.getKey().indexOf('.') >= 0);
  }

  // --- stages ---------------------------------------------------------------------------------

  /** What starts and ends a flow is no stage, and undoing is a fact of its own. */
  private static boolean stage(Place place) {
    return !place.undoes() && place.declared();
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
    add(place, new Observation.StageEnd(done), start == null ? null : millis(start));
    if (done) {
      add(place, new Observation.StageExecuted());
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
        add(place, new Observation.StageStart());
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
              Cause cause = cause(event, gone);
              add(place, new Observation.Resume(was, cause), millis(begun));
            });
  }

  private static Cause cause(Event event, boolean gone) {
    boolean answered = event instanceof Event.Moved || !gone;
    return CAUSES.getOrDefault(event.getClass(), answered ? Cause.ANSWERED : Cause.ABANDONED);
  }

  private void beginWaits() {
    after
        .places()
        .forEach(
            (place, there) -> {
              Wait now = wait(there);
              if (now != null && now != wait(before.places().get(place))) {
                waiting.put(place, at);
                add(place, pause(there, now));
              }
            });
  }

  private static Observation.Pause pause(PlaceState there, Wait wait) {
    Phase phase = there.phase();
    boolean asks = wait == Wait.ANSWER;
    Phase.Halted halted = phase instanceof Phase.Halted h ? h : null;
    return new Observation.Pause(
        wait,
        asks ? there.open() : List.of(),
        asks ? there.context() : null,
        phase instanceof Phase.Showing showing ? showing.widget() : null,
        phase instanceof Phase.Awaiting awaiting ? awaiting.signal() : null,
        halted == null ? null : halted.code(),
        halted == null ? null : halted.message(),
        phase instanceof Phase.Sleeping sleeping
            ? Long.valueOf(sleeping.until())
            : there.deadline());
  }
}

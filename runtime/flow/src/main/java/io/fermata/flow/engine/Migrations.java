package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.Migrating;
import io.fermata.flow.Migration;
import io.fermata.flow.MigrationPath;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Renaming;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Paths;
import io.fermata.flow.route.Route;
import io.fermata.flow.schema.StateSchema;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Carries runs of earlier versions over to a flow. */
final class Migrations {
  private final Flow<?> flow;
  private final MigrationPath path;

  /** Why a run cannot be carried over. */
  static final class Unfit extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The reason without what only its run says. */
    final String kind;

    Unfit(String reason) {
      this(reason, reason, null);
    }

    Unfit(String kind, String reason, @Nullable Throwable cause) {
      super(reason, cause);
      this.kind = kind;
    }
  }

  Migrations(Flow<?> flow) {
    this.flow = flow;
    this.path = new MigrationPath(flow);
  }

  boolean from(int version) {
    return path.from().containsKey(version);
  }

  // --- carrying a run over --------------------------------------------------------------------

  /**
   * What happens to a run that is carried over.
   *
   * @throws Unfit if it cannot be
   */
  List<Event> carry(RunState run, Limits limits, long at) {
    requireAtRest(run);
    List<Event> events = new ArrayList<>();
    RunState state = run;
    for (Map.Entry<Integer, Migration> each : path.from().tailMap(run.version()).entrySet()) {
      Integer next = path.from().higherKey(each.getKey());
      Event.Migrated migrated = migrated(state, each.getValue(), next, at);
      state = state.apply(migrated);
      events.add(migrated);
    }
    requireFits(run, state, limits);
    List<Event.Relocated> relocated = Relocations.of(flow.graph(), state);
    if (!relocated.isEmpty()) {
      int last = events.size() - 1;
      events.set(last, ((Event.Migrated) events.get(last)).relocating(relocated));
    }
    return events;
  }

  /** What the nodes and fields of an earlier version are called in the flow. */
  EventNames names(int version) {
    EventNames names = EventNames.SAME;
    if (from(version)) {
      for (Map.Entry<Integer, Migration> each : path.from().tailMap(version).entrySet()) {
        Migration migration = each.getValue();
        Integer next = path.from().higherKey(each.getKey());
        names = names.then(path.names(migration, next), next == null ? flow.version() : next);
      }
    }
    return names;
  }

  /**
   * Checks that the flow can continue a run as if it had brought it to where it is.
   *
   * @throws Unfit if it cannot
   */
  void requireFits(RunState run, Limits limits) {
    requireFits(run, run, limits);
  }

  /** What is running is finished by the version that began it. */
  private static void requireAtRest(RunState run) {
    if (run.ending() != null || !run.undoing().isEmpty()) {
      throw new Unfit("what it did is being undone");
    }
    run.places()
        .forEach(
            (place, at) -> {
              Phase phase = at.phase();
              PlaceState.Reminder reminder = at.reminder();
              boolean works = phase instanceof Phase.Working w && w.retryAt() == null;
              boolean reminds = reminder != null && reminder.attempt() > 0;
              if (works || reminds) {
                throw new Unfit("its step " + place.node() + " is at work");
              } else if (phase.busy() instanceof Phase.Returning
                  || phase.busy() instanceof Phase.Breaking) {
                throw new Unfit("it is in the middle of leaving " + place.node());
              }
            });
  }

  /**
   * @param next the version that the migration leads to; null for the flow's own
   */
  private Event.Migrated migrated(
      RunState state, Migration migration, @Nullable Integer next, long at) {
    Renaming names = path.names(migration, next);
    return new Event.Migrated(
        state.version(),
        next == null ? flow.version() : next,
        next == null ? flow.fingerprint() : "",
        new LinkedHashMap<>(names.nodes()),
        names.fields(),
        rewrites(state, migration.state(), names),
        state.inOrder().stream()
            .map(place -> carried(state, place, migration, names, next))
            .toList(),
        at,
        null);
  }

  private Event.Carried carried(
      RunState state, Place place, Migration migration, Renaming names, @Nullable Integer next) {
    PlaceState at = state.at(place);
    String goOn = goOn(migration, place, at.phase());
    Place to = names.place(place);
    if (goOn != null) {
      int visits = state.branch(place.branch()).visits(goOn);
      String last = next == null ? goOn : path.inTheEnd(next - 1, goOn);
      boolean asks = flow.graph().step(last).asks();
      return new Event.Carried(
          place, new Place(to.branch(), goOn, visits + 1), true, asks, null, null);
    }
    if (next != null || !flow.graph().has(to.node())) {
      return new Event.Carried(place, to, false, false, at.deadline(), at.reminder());
    }
    Node.Waiting<?> waiting = waiting(flow.graph().step(to));
    return new Event.Carried(
        place,
        to,
        false,
        false,
        waiting.deadline() == null ? null : at.deadline(),
        waiting.every() == null ? null : bounded(at.reminder(), waiting.reminders()));
  }

  /**
   * Where a run continues whose node is gone, or the one that mounts its flow: in the branch that
   * it is in, which must be that of the node that is gone.
   */
  private static @Nullable String goOn(Migration migration, Place place, Phase phase) {
    Map.Entry<String, String> removed = MigrationPath.removedAround(migration, place.node());
    if (removed == null) {
      return null;
    }
    String gone = removed.getKey();
    boolean apart = Place.around(place.branch()).stream().anyMatch(in -> within(gone, in.fork()));
    boolean inner = !gone.equals(place.node());
    return apart || (inner && phase.busy() instanceof Phase.Forked) ? null : removed.getValue();
  }

  private static boolean within(String mount, Place place) {
    return place.node().equals(mount) || place.node().startsWith(mount + "/");
  }

  private static PlaceState.@Nullable Reminder bounded(
      PlaceState.@Nullable Reminder next, int most) {
    return next == null || next.number() <= most
        ? next
        : new PlaceState.Reminder(next.number(), null, 0);
  }

  private static Node.Waiting<?> waiting(Step<?> step) {
    Node<?> node = step.node();
    return node == null ? Node.Waiting.none() : step.scope().flow().waiting(node.id());
  }

  private List<Event.Rewrite> rewrites(
      RunState state, @Nullable Consumer<Migrating> change, Renaming names) {
    IdentityHashMap<ObjectNode, List<Write>> known = new IdentityHashMap<>();
    List<Event.Rewrite> rewrites = new ArrayList<>();
    state
        .branches()
        .forEach(
            (name, branch) -> {
              List<Write> now = writes(state, branch.memory().data(), change, names, known);
              rewrites.add(new Event.Rewrite(name, null, null, now));
              branch
                  .entered()
                  .forEach(
                      (step, then) ->
                          rewrites.add(
                              new Event.Rewrite(
                                  name,
                                  step,
                                  null,
                                  writes(state, then.memory().data(), change, names, known))));
            });
    for (RunState.Undo done : state.done()) {
      List<Write> then = writes(state, done.data(), change, names, known);
      rewrites.add(new Event.Rewrite(done.place().branch(), null, done.place(), then));
    }
    rewrites.removeIf(rewrite -> rewrite.writes().isEmpty());
    return List.copyOf(rewrites);
  }

  /** What is written to a state; that is found out once for each, however many keep it. */
  private List<Write> writes(
      RunState run,
      ObjectNode data,
      @Nullable Consumer<Migrating> change,
      Renaming names,
      IdentityHashMap<ObjectNode, List<Write>> known) {
    List<Write> before = known.get(data);
    if (before != null) {
      return before;
    }
    ObjectNode renamed = names.renamed(data);
    List<Write> writes = new ArrayList<>(secrets(renamed, names.here(data)));
    if (change != null) {
      writes.addAll(writes(run, renamed, change));
    }
    known.put(data, List.copyOf(writes));
    return writes;
  }

  /** A value that comes under the name of a secret is learned as one. */
  private List<Write> secrets(ObjectNode renamed, Map<String, String> fields) {
    List<Write> writes = new ArrayList<>();
    for (String field : fields.values()) {
      JsonNode value = Paths.get(renamed, field);
      List<JsonNode> secret = new ArrayList<>();
      flow.secretFields().find(field, value, secret::add);
      if (Paths.filled(value) && !secret.isEmpty()) {
        writes.add(new Write(Write.Verb.SET, field, value));
      }
    }
    return writes;
  }

  private List<Write> writes(RunState run, ObjectNode data, Consumer<Migrating> change) {
    Migrating migrating = new Migrating(run, data, field -> flow.schema().field(field) != null);
    try {
      change.accept(migrating);
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      String failed = "the migration from version " + run.version() + " failed";
      String meant = StepFailures.meant(e);
      throw new Unfit(failed, meant == null ? failed : failed + ": " + meant, e);
    }
    return migrating.writes();
  }

  // --- what fits ------------------------------------------------------------------------------

  private void requireFits(RunState before, RunState after, Limits limits) {
    if (after.places().size() != before.places().size()
        || after.branches().size() != before.branches().size()) {
      throw new Unfit("two of the places where it is would become one");
    }
    after.places().forEach((place, at) -> place(place, at.phase()));
    before.places().forEach((place, at) -> name(before, after, place, at.phase()));
    before.done().forEach(done -> done(before, after, done.place()));
    after.places().keySet().forEach(place -> readable(after, place));
    after
        .branches()
        .forEach(
            (name, branch) -> {
              state(branch.memory().data());
              branch.entered().values().forEach(then -> state(then.memory().data()));
              if (branch.memory().bytes() > limits.stateBytes()) {
                throw new Unfit("its state would be larger than " + limits.stateBytes() + " bytes");
              }
            });
    after.done().forEach(done -> state(done.data()));
    Signals signals = new Signals(flow.graph(), limits);
    after.signals().forEach(signal -> signal(signals, signal));
  }

  private void signal(Signals signals, RunState.Signal signal) {
    require(
        signals.violations(signal.name(), signal.payload()).isEmpty(),
        "the signal %s, which it has got and not taken yet, does not fit version %s"
            .formatted(signal.name(), flow.version()));
  }

  private void place(Place place, Phase phase) {
    Graph graph = flow.graph();
    if (!graph.has(place.node())) {
      String what = "%s, which is no node of version %s".formatted(place.node(), flow.version());
      String mounted =
          ", also of the node that mounts its flow, unless a fork or a list lies between";
      throw new Unfit(
          "it is at "
              + what
              + "; say in the migration what became of that: node(…) or removed(…)"
              + (place.node().contains("/") ? mounted : ""));
    }
    branch(place);
    Step<?> step = graph.step(place);
    Phase busy = phase.busy();
    if (busy instanceof Phase.Forked forked) {
      results(step, forked);
      boolean same =
          forked.list()
              ? step.node() instanceof Node.Each
              : step.route() instanceof Route.Fork fork
                  && Set.copyOf(fork.heads()).containsAll(forked.labels());
      require(same, "the branches after " + place.node() + " that it is in are other ones");
    } else if (busy instanceof Phase.Sleeping) {
      require(step.node() instanceof Node.Sleep, place.node() + ", where it is, no longer sleeps");
    } else if (busy instanceof Phase.Working working) {
      boolean same =
          working.field() == null
              ? step.node() instanceof Node.Act
              : step.node() instanceof Node.Ask<?> ask && asks(ask, step, place, working.field());
      require(same, "the step " + place.node() + ", which it began, is another one");
    } else if (busy instanceof Phase.Leaving leaving && leaving.to() != null) {
      require(graph.has(leaving.to()), "its next node " + leaving.to() + " no longer exists");
    }
  }

  private static boolean asks(Node.Ask<?> ask, Step<?> step, Place place, String field) {
    String prefix = step.scope().prefix(place);
    return ask.questions().stream().anyMatch(question -> field.equals(prefix + question.field()));
  }

  /** A node lies in the branches in which the run is at it, and in no others. */
  private void branch(Place place) {
    Map<String, String> around = flow.graph().sides(place.node());
    Map<String, String> here = new LinkedHashMap<>();
    for (Place.Inside inside : Place.around(place.branch())) {
      String fork = inside.fork().node();
      here.put(fork, Paths.ANY.equals(around.get(fork)) ? Paths.ANY : inside.label());
    }
    require(here.equals(around), place.node() + ", where it is, lies in another branch");
  }

  /** What has begun is known to the world under the name of its step. */
  private static void name(RunState before, RunState after, Place place, Phase phase) {
    boolean begun = phase.busy() instanceof Phase.Working || before.at(place).attempts() > 0;
    require(
        !begun || after.places().containsKey(place),
        "its step " + place.node() + " has begun and must keep its name");
  }

  private void done(RunState before, RunState after, Place place) {
    boolean kept = after.done().stream().anyMatch(done -> done.place().equals(place));
    require(
        kept && flow.graph().has(place.node()),
        "its step %s is done and may have to be undone, so it must keep its name"
            .formatted(place.node()));
    require(
        TypedPlace.asOf(before.data(), place, flow.graph()).undoable(),
        "its step " + place.node() + " is done and has no compensation any more");
  }

  private void readable(RunState after, Place place) {
    try {
      TypedPlace.of(after, place, flow.graph()).view();
    } catch (IllegalArgumentException e) {
      throw unreadable(e);
    }
  }

  private void state(ObjectNode data) {
    known(flow.schema(), data, "its state has", "; rename or delete it in the migration");
    try {
      flow.schema().requireReadable(data, Json.object());
    } catch (IllegalArgumentException e) {
      throw unreadable(e);
    }
  }

  /** What items have ended with goes to a field as it is: no migration renames or changes it. */
  private void results(Step<?> step, Phase.Forked forked) {
    String into = step.node() instanceof Node.Each<?, ?> each ? each.into() : null;
    if (forked.list() && into != null) {
      ArrayNode results = Json.MAPPER.createArrayNode();
      for (Phase.End end : forked.ended().values()) {
        JsonNode result = end.result();
        if (result != null) {
          results.add(result);
        }
      }
      StateSchema<?> schema = step.scope().schema();
      ObjectNode kept = Paths.set(Json.object(), into, results);
      known(schema, kept, "items of " + step.path() + " have ended with", "");
      try {
        // The record around it may not be made of nothing else.
        schema.value(into, results);
      } catch (IllegalArgumentException e) {
        throw unreadable(Json.unreadableAt(into, e));
      }
    }
  }

  private void known(StateSchema<?> schema, ObjectNode data, String has, String advice) {
    Set<String> unknown = schema.unknown(data);
    if (!unknown.isEmpty()) {
      String lacks = ", which version " + flow.version() + " does not have" + advice;
      String reason = has + " " + String.join(", ", unknown) + lacks;
      throw new Unfit(has + " fields" + lacks, reason, null);
    }
  }

  private Unfit unreadable(IllegalArgumentException e) {
    String unreadable = "its state cannot be read as that of version " + flow.version();
    return new Unfit(unreadable, unreadable + ": " + e.getMessage(), e);
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new Unfit(otherwise);
    }
  }
}

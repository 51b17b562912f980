package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.SharedTrees;
import io.fermata.flow.json.Violation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The state of a session's run: the fold of its events. Immutable; trees in it are never changed.
 *
 * @param places where the run is: a set of places, each with what it is busy with
 * @param branches its strands, by name; the trunk's is ""
 * @param signals what came from outside and nobody has taken yet
 * @param tags what its steps marked it with
 */
public record RunState(
    Status status,
    @JsonUnwrapped Identity identity,
    @JsonUnwrapped Clock clock,
    Map<Place, PlaceState> places,
    Map<String, Branch> branches,
    @JsonUnwrapped Rollback rollback,
    List<Signal> signals,
    List<String> tags,
    @JsonUnwrapped Activity activity,
    @JsonUnwrapped End end) {

  /**
   * Which run it is, and of what.
   *
   * @param fork null if it was not forked from another run
   */
  public record Identity(
      String runId,
      int version,
      String fingerprint,
      String intent,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Fork fork) {
    Identity(String runId, int version, String fingerprint, String intent) {
      this(runId, version, fingerprint, intent, null);
    }

    Identity migrated(Event.Migrated to) {
      Fork carried = fork == null ? null : fork.migrated(to);
      return new Identity(runId, to.to(), to.fingerprint(), intent, carried);
    }

    Identity forked(Fork from) {
      return new Identity(runId, version, fingerprint, intent, from);
    }
  }

  /**
   * What a forked run has of its source.
   *
   * @param known the results of effects that it can take from there
   * @param taken the places whose last effect came from there, so that this run need not undo it
   * @param diverged whether it has asked for an effect that its source has no result of
   */
  public record Fork(
      ForkOrigin origin,
      @JsonUnwrapped RecordedResult.Known known,
      List<Place> taken,
      boolean diverged) {
    @JsonIgnore
    public boolean sandboxed() {
      return origin.mode() == ForkOrigin.Mode.SANDBOX;
    }

    /** Whether it performs nothing: it is in a sandbox, or still takes results of its source. */
    @JsonIgnore
    public boolean performsNothing() {
      return sandboxed() || (origin.mode() == ForkOrigin.Mode.REPLAY_EFFECTS && !diverged);
    }

    /** The result of an effect in the source, for the same input; null if it is unknown. */
    public @Nullable RecordedResult result(Place place, @Nullable String field, ObjectNode data) {
      return known.answering(place, field, data);
    }

    /** Whether the effect at a place was performed by this run. */
    public boolean performed(Place place) {
      return !sandboxed() && !taken.contains(place);
    }

    Fork take(RecordedResult result, Place at, long tick) {
      return new Fork(origin, known.take(result, tick), RunState.plus(taken, at), diverged);
    }

    Fork back(Event.Reset reset, Map<String, Branch> branches) {
      return new Fork(origin, known.back(reset, branches), taken, diverged);
    }

    Fork migrated(Event.Migrated to) {
      List<Place> places = taken.stream().map(Renaming.by(to)::place).toList();
      return new Fork(origin, known.migrated(to), places, diverged);
    }

    /** An effect at a place is performed by this run, as its source has no result of it. */
    Fork perform(Place at) {
      List<Place> places = taken.stream().filter(place -> !place.equals(at)).toList();
      return sandboxed() ? this : new Fork(origin, RecordedResult.Known.NONE, places, true);
    }
  }

  /**
   * When it began and was last changed.
   *
   * @param tick the number of events folded so far
   */
  public record Clock(long startedAt, long changedAt, long tick) {}

  /**
   * What is or may be undone.
   *
   * @param done the actions that can be undone, in the order they committed
   * @param undoing what is to be undone before anything else happens, the next one first
   * @param ending how the run ends when all is undone; null if it is to continue
   */
  public record Rollback(List<Undo> done, List<Undo> undoing, @Nullable Ending ending) {}

  /**
   * What moved the run, and how far.
   *
   * @param refused what was not taken of the values of the last call that drove the run
   * @param called the run was last driven by a call, so somebody waits for its outcome
   */
  public record Activity(
      int visitsInRun, int visitsInCall, List<Violation> refused, boolean called) {}

  /** The outcome of a run that has ended. */
  public record End(@Nullable JsonNode result, @Nullable String reason) {}

  /** Where a run is in its life. */
  public enum Status {
    NONE,
    RUNNING,
    COMPLETED,
    CANCELLED,
    FAILED,
    ABANDONED,
    EXPIRED
  }

  /**
   * An action that can be undone.
   *
   * @param tick when it committed
   * @param data what its branch knew then
   */
  public record Undo(Place place, long tick, @SharedTrees.Tree ObjectNode data) {}

  /** Why a run ends; without a code somebody cancelled it. */
  public record Ending(@Nullable ErrorCode code, @Nullable String message) {}

  /** A signal that waits to be taken. */
  public record Signal(String name, @Nullable JsonNode payload) {}

  public static final RunState NONE =
      new RunState(
          Status.NONE,
          new Identity("", 0, "", ""),
          new Clock(0, 0, 0),
          Map.of(),
          Map.of("", Branch.EMPTY),
          new Rollback(List.of(), List.of(), null),
          List.of(),
          List.of(),
          new Activity(0, 0, List.of(), false),
          new End(null, null));

  /** What is left of a run that has ended: that it was, and how it ended. */
  public static RunState ended(Status status, String runId, int version, long at) {
    Draft draft = new Draft(NONE);
    draft.status = status;
    draft.identity = new Identity(runId, version, "", "");
    draft.changedAt = at;
    return draft.build();
  }

  /** This run at its end; its outcome is ignored. */
  public RunState ended(Status how, long at) {
    Draft draft = new Draft(this);
    draft.status = how;
    draft.changedAt = at;
    draft.places = Map.of();
    return draft.build();
  }

  @JsonIgnore
  public boolean running() {
    return status == Status.RUNNING;
  }

  /** Whether a handler runs at some place, or a failed one will be retried. */
  public boolean works() {
    for (PlaceState at : places.values()) {
      if (at.phase() instanceof Phase.Working) {
        return true;
      }
    }
    return false;
  }

  /**
   * Since when it works, has stopped or waits. That is as old as the oldest of what makes it so,
   * whatever other branches do meanwhile.
   */
  public long since() {
    boolean works = works();
    boolean stopped = places.values().stream().anyMatch(at -> at.phase() instanceof Phase.Halted);
    long oldest = changedAt();
    for (PlaceState at : places.values()) {
      Phase phase = at.phase();
      if (phase instanceof Phase.Working working) {
        oldest = Math.min(oldest, working.since());
      } else if (!works && phase instanceof Phase.Halted halted) {
        oldest = Math.min(oldest, halted.since());
      } else if (!works
          && !stopped
          && (phase instanceof Phase.Waiting || phase instanceof Phase.Sleeping)) {
        oldest = Math.min(oldest, at.since());
      }
    }
    return oldest;
  }

  /** The actions that have begun and not committed, so that they may have acted. */
  public List<Place> acting() {
    Fork fork = identity.fork();
    List<Place> acting = new ArrayList<>();
    places.forEach(
        (place, at) -> {
          boolean acts = at.phase().busy() instanceof Phase.Working w && w.field() == null;
          if (acts && !place.undoes() && (fork == null || fork.performed(place))) {
            acting.add(place);
          }
        });
    return acting;
  }

  /** Whether there is or may be something to undo, which only its own version can. */
  public boolean mayOweUndoing() {
    return ending() != null || !done().isEmpty() || !undoing().isEmpty() || !acting().isEmpty();
  }

  /** Whether it has branches besides the trunk. */
  @JsonIgnore
  public boolean forked() {
    return branches.size() > 1;
  }

  /** Where the run was forked from; null if it was not. */
  public @Nullable Fork fork() {
    return identity.fork();
  }

  /** Whether the run is a fork that performs no effect and concerns nobody. */
  @JsonIgnore
  public boolean sandboxed() {
    Fork fork = identity.fork();
    return fork != null && fork.sandboxed();
  }

  public String runId() {
    return identity.runId();
  }

  public int version() {
    return identity.version();
  }

  public String fingerprint() {
    return identity.fingerprint();
  }

  public String intent() {
    return identity.intent();
  }

  public long startedAt() {
    return clock.startedAt();
  }

  public long changedAt() {
    return clock.changedAt();
  }

  public long tick() {
    return clock.tick();
  }

  public List<Undo> done() {
    return rollback.done();
  }

  public List<Undo> undoing() {
    return rollback.undoing();
  }

  public @Nullable Ending ending() {
    return rollback.ending();
  }

  public int visitsInRun() {
    return activity.visitsInRun();
  }

  public int visitsInCall() {
    return activity.visitsInCall();
  }

  public List<Violation> refused() {
    return activity.refused();
  }

  public boolean called() {
    return activity.called();
  }

  public @Nullable JsonNode result() {
    return end.result();
  }

  public @Nullable String reason() {
    return end.reason();
  }

  /** The values of the trunk's state. The tree is shared: it must not be changed. */
  @JsonIgnore
  public ObjectNode data() {
    return memory("").data();
  }

  /** The answers that stand, as the client gave them, by field. */
  @JsonIgnore
  public Map<String, JsonNode> answers() {
    Map<String, StateMemory.Answer> latest = new LinkedHashMap<>();
    for (Branch branch : branches.values()) {
      branch.memory().answers().forEach((f, a) -> latest.merge(f, a, StateMemory.Answer::later));
    }
    Map<String, JsonNode> answers = new TreeMap<>();
    latest.forEach((field, answer) -> answers.put(field, answer.value()));
    answers.values().removeIf(JsonNode::isNull);
    return answers;
  }

  public Branch branch(String name) {
    return Objects.requireNonNull(branches.get(name), () -> "There is no branch " + name);
  }

  public StateMemory memory(String branch) {
    return branch(branch).memory();
  }

  /** The items of lists that a branch is for, the outermost first. */
  public static List<JsonNode> about(Map<Place, PlaceState> places, String branch) {
    List<JsonNode> items = new ArrayList<>();
    for (Place.Inside inside : Place.around(branch)) {
      PlaceState there = places.get(inside.fork());
      List<JsonNode> all =
          there != null && there.phase().busy() instanceof Phase.Forked forked
              ? forked.items()
              : null;
      if (all != null) {
        items.add(0, all.get(Integer.parseInt(inside.label())));
      }
    }
    return items;
  }

  /** How often a node was entered since its flow began, in a branch and before it branched off. */
  public int passes(String branch, String node) {
    int passes = branch(branch).passes(node);
    for (Place.Inside inside : Place.around(branch)) {
      passes += branch(inside.fork().branch()).passes(node);
    }
    return passes;
  }

  /** Its places as they were declared: those of a fork's first branch before the second's. */
  public List<Place> inOrder() {
    if (places.size() <= 1) {
      return List.copyOf(places.keySet());
    }
    Map<String, List<Place>> byBranch = new LinkedHashMap<>();
    places
        .keySet()
        .forEach(p -> byBranch.computeIfAbsent(p.branch(), b -> new ArrayList<>()).add(p));
    List<Place> ordered = new ArrayList<>();
    inOrder("", byBranch, ordered);
    byBranch.values().forEach(ordered::addAll);
    return ordered;
  }

  private void inOrder(String branch, Map<String, List<Place>> byBranch, List<Place> ordered) {
    List<Place> here = byBranch.remove(branch);
    if (here == null) {
      return;
    }
    for (Place place : here) {
      ordered.add(place);
      if (at(place).phase().busy() instanceof Phase.Forked forked) {
        forked.labels().forEach(label -> inOrder(place.branch(label), byBranch, ordered));
      }
    }
  }

  /** The widget that is shown, the oldest if several wait to be: it must not change on its own. */
  public @Nullable Place shown() {
    List<Place> showing = showing(places.keySet());
    if (showing.size() <= 1) {
      return showing.isEmpty() ? null : showing.get(0);
    }
    return showing(inOrder()).stream()
        .min(Comparator.comparingLong(place -> at(place).since()))
        .orElse(null);
  }

  private List<Place> showing(Collection<Place> among) {
    List<Place> showing = new ArrayList<>(1);
    for (Place place : among) {
      if (at(place).phase() instanceof Phase.Showing) {
        showing.add(place);
      }
    }
    return showing;
  }

  public PlaceState at(Place place) {
    return Objects.requireNonNull(places.get(place), () -> "The run is not at " + place);
  }

  /** The fold: what the state is after one more event. Pure; it calls no code of the author. */
  public RunState apply(Event event) {
    Draft draft = new Draft(this);
    Fold.into(draft, event);
    return draft.build();
  }

  /** The fold of several events. */
  public RunState apply(List<Event> events) {
    if (events.isEmpty()) {
      return this;
    }
    Draft draft = new Draft(this);
    for (Event event : events) {
      Fold.into(draft, event);
    }
    return draft.build();
  }

  private static <K> boolean holdsOnly(Map<K, ?> map, K key) {
    return map.isEmpty() || (map.size() == 1 && map.containsKey(key));
  }

  public static <T> List<T> plus(List<T> list, T element) {
    List<T> copy = new ArrayList<>(list);
    copy.add(element);
    return copy;
  }

  /** A state under construction: the one before, with some parts replaced. */
  static final class Draft {
    private final RunState from;
    Status status;
    Identity identity;
    long startedAt;
    long changedAt;
    Map<Place, PlaceState> places;
    Map<String, Branch> branches;
    List<Undo> done;
    List<Undo> undoing;
    @Nullable Ending ending;
    List<Signal> signals;
    List<String> tags;
    int visitsInRun;
    int visitsInCall;
    long tick;
    List<Violation> refused;
    boolean called;
    End end;

    /** The copies that this draft has made, which it may change as long as nobody else has them. */
    private @Nullable Map<Place, PlaceState> ownPlaces;

    private @Nullable Map<String, Branch> ownBranches;

    private Draft(RunState from) {
      this.from = from;
      take(from);
    }

    private void take(RunState state) {
      status = state.status;
      identity = state.identity;
      startedAt = state.startedAt();
      changedAt = state.changedAt();
      tick = state.tick();
      places = state.places;
      branches = state.branches;
      done = state.done();
      undoing = state.undoing();
      ending = state.ending();
      signals = state.signals;
      tags = state.tags;
      visitsInRun = state.visitsInRun();
      visitsInCall = state.visitsInCall();
      refused = state.refused();
      called = state.called();
      end = state.end;
    }

    /** Something other than an effect moves the run on, with a fresh allowance of visits. */
    void moved(boolean byCall) {
      visitsInCall = 0;
      refused = List.of();
      called = byCall;
    }

    /** Forgets the run, but not how far the count of events has come. */
    void forget() {
      long kept = tick;
      take(NONE);
      tick = kept;
    }

    /** Changes what is known of a place, if the run is there. */
    void at(Place place, UnaryOperator<PlaceState> change) {
      PlaceState at = places.get(place);
      if (at != null) {
        put(place, change.apply(at));
      }
    }

    void put(Place place, PlaceState at) {
      if (holdsOnly(places, place)) {
        places = Collections.singletonMap(place, at);
      } else {
        changePlaces().put(place, at);
      }
    }

    void remove(Place place) {
      if (places.size() == 1 && places.containsKey(place)) {
        places = Map.of();
      } else {
        changePlaces().remove(place);
      }
    }

    private Map<Place, PlaceState> changePlaces() {
      ownPlaces = own(places, ownPlaces);
      places = ownPlaces;
      return ownPlaces;
    }

    Branch branch(String name) {
      return Objects.requireNonNull(branches.get(name), () -> "There is no branch " + name);
    }

    void branch(String name, UnaryOperator<Branch> change) {
      Branch branch = branches.get(name);
      if (branch != null) {
        put(name, change.apply(branch));
      }
    }

    void put(String name, Branch branch) {
      if (holdsOnly(branches, name)) {
        branches = Collections.singletonMap(name, branch);
      } else {
        changeBranches().put(name, branch);
      }
    }

    private Map<String, Branch> changeBranches() {
      ownBranches = own(branches, ownBranches);
      branches = ownBranches;
      return ownBranches;
    }

    @SuppressWarnings("ReferenceEquality") // this very copy
    private static <K, V> Map<K, V> own(Map<K, V> now, @Nullable Map<K, V> mine) {
      return now == mine ? now : new LinkedHashMap<>(now);
    }

    /** Forgets a branch, but not its places. */
    void forget(String name) {
      changeBranches().remove(name);
    }

    /** Forgets a branch with all that branches off it, and its places. */
    void drop(String name) {
      changeBranches().keySet().removeIf(other -> Place.within(other, name));
      leave(name);
    }

    /** Leaves every place of a branch and of those that branch off it; what is undone stays so. */
    void leave(String branch) {
      changePlaces()
          .keySet()
          .removeIf(place -> !place.undoes() && Place.within(place.branch(), branch));
    }

    RunState build() {
      ownPlaces = null;
      ownBranches = null;
      return new RunState(
          status,
          identity,
          new Clock(startedAt, changedAt, tick),
          places,
          branches,
          rollback(),
          signals,
          tags,
          new Activity(visitsInRun, visitsInCall, refused, called),
          end);
    }

    @SuppressWarnings("ReferenceEquality") // most events leave it as it is
    private Rollback rollback() {
      Rollback old = from.rollback;
      boolean same = done == old.done && undoing == old.undoing && ending == old.ending;
      return same ? old : new Rollback(done, undoing, ending);
    }
  }
}

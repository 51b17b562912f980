package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.cases.Cases;
import io.fermata.flow.event.RunState.Draft;
import io.fermata.flow.event.RunState.Status;
import io.fermata.flow.event.RunState.Undo;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Violation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What each event means for the state. */
public final class Fold {
  private static final long REST_MILLIS = 1_000;
  private static final String FORKS = ">";

  private static final Cases<Draft, Event> EVENTS =
      Cases.<Draft, Event>of(Event.class)
          .does(Event.Started.class, Fold::started)
          .does(Event.Answered.class, Fold::answered)
          .does(Event.Accepted.class, Fold::accepted)
          .does(Event.Rejected.class, Fold::rejected)
          .does(Event.Misplaced.class, Fold::misplaced)
          .does(Event.Postponed.class, Fold::postponed)
          .does(Event.Passed.class, Fold::passed)
          .does(Event.Asked.class, (s, e) -> changed(s, e, at -> at.asked(e, s.called, s.tick)))
          .does(Event.Shown.class, (s, e) -> changed(s, e, at -> at.shown(e, s.called)))
          .does(Event.Attempted.class, (s, e) -> changed(s, e, at -> at.attempted(e)))
          .does(Event.AttemptFailed.class, (s, e) -> s.at(e.place(), at -> attemptFailed(at, e)))
          .does(Event.Committed.class, Fold::committed)
          .does(Event.Tagged.class, (s, e) -> s.tags = e.tagging().of(s.tags))
          .does(Event.Moved.class, Fold::moved)
          .does(Event.Stopped.class, Fold::stopped)
          .does(Event.Retried.class, Fold::retried)
          .does(Event.Skipped.class, Fold::skipped)
          .does(Event.Reset.class, Fold::reset)
          .does(Event.Migrated.class, (s, e) -> new MigrationFold(s, e).run())
          .does(Event.ForkedFrom.class, Fold::forkedFrom)
          .does(Event.Unattended.class, Fold::unattended)
          .does(Event.Slept.class, (s, e) -> changed(s, e, at -> slept(at, e)))
          .does(Event.Awaited.class, (s, e) -> changed(s, e, at -> awaited(at, e)))
          .does(Event.Signalled.class, Fold::signalled)
          .does(Event.Received.class, Fold::received)
          .does(Event.Woken.class, (s, e) -> waited(s, e.place(), null, e.at()))
          .does(Event.DeadlinePassed.class, (s, e) -> waited(s, e.place(), e.target(), e.at()))
          .does(Event.Reminding.class, Fold::reminding)
          .does(Event.Reminded.class, Fold::reminded)
          .does(Event.Forked.class, Fold::forked)
          .does(Event.Arrived.class, Fold::arrived)
          .does(Event.BranchFailed.class, Fold::branchFailed)
          .does(Event.Joined.class, Fold::joined)
          .does(Event.Opened.class, Fold::opened)
          .does(Event.Closed.class, Fold::closed)
          .does(Event.Broken.class, Fold::broken)
          .does(Event.Undoing.class, (s, e) -> s.put(e.place().undo(), PlaceState.entered(e.at())))
          .does(Event.Undone.class, (s, e) -> undone(s, e.place()))
          .does(Event.Ending.class, Fold::ending)
          .does(Event.Completed.class, Fold::completed)
          .does(Event.Cancelled.class, (s, e) -> end(s, Status.CANCELLED, e.at()))
          .does(Event.Expired.class, (s, e) -> end(s, Status.EXPIRED, e.at()))
          .does(Event.Failed.class, Fold::failed)
          .does(Event.Abandoned.class, (s, e) -> s.forget())
          .ignores(Event.Decided.class)
          .whole();

  private Fold() {}

  /** Puts into the draft what the event means. */
  static void into(Draft state, Event event) {
    state.tick++;
    RunState.Fork fork = state.identity.fork();
    if (fork != null && fork.origin().mode() != ForkOrigin.Mode.LIVE) {
      state.identity = state.identity.forked(after(state, fork, event));
    }
    EVENTS.after(state, event);
  }

  /** An event that happened at a place changes it, and when the run last changed. */
  private static void changed(Draft state, Event e, UnaryOperator<PlaceState> change) {
    state.changedAt = e.at();
    state.at(Objects.requireNonNull(e.place()), change);
  }

  private static void started(Draft state, Event.Started e) {
    state.forget();
    state.status = Status.RUNNING;
    state.identity = new RunState.Identity(e.runId(), e.version(), e.fingerprint(), e.intent());
    state.startedAt = e.at();
    state.changedAt = e.at();
    state.moved(true);
    Place beginning = new Place(Place.START, 1);
    state.put(beginning, PlaceState.entered(e.at()).phase(new Phase.Leaving(null)));
    state.branches = Map.of("", Branch.EMPTY.enter(beginning, true, state.tick));
  }

  private static void answered(Draft state, Event.Answered e) {
    Map<Place, PlaceState> places = new LinkedHashMap<>(state.places);
    places.replaceAll(
        (place, at) -> at.answered(e.values().keySet(), place.equals(e.acknowledged())));
    state.moved(true);
    if (!e.values().isEmpty() || e.acknowledged() != null || e.left() != null) {
      state.visitsInRun = 0;
    }
    state.changedAt = e.at();
    state.places = places;
    applyAnswers(state, List.copyOf(state.branches.keySet()), e.values(), e.recipients());
    if (e.left() != null) {
      e.left().forEach(field -> leftOpen(state, field));
    }
  }

  private static void leftOpen(Draft state, String field) {
    state.places.forEach(
        (place, at) -> {
          if (at.open().stream().anyMatch(question -> question.field().equals(field))) {
            List<JsonNode> about = RunState.about(state.places, place.branch());
            state.branch(
                place.branch(), b -> b.memory(b.memory().leaveOpen(field, about, state.tick)));
          }
        });
  }

  /** Gives each branch what concerns it. What it alone gets is a change that it makes. */
  private static void applyAnswers(
      Draft state,
      List<String> branches,
      Map<String, JsonNode> values,
      @Nullable Map<String, List<String>> recipients) {
    Map<String, Map<String, JsonNode>> received = new LinkedHashMap<>();
    Map<String, List<String>> alone = recipients == null ? Map.of() : recipients;
    values.forEach(
        (field, value) -> {
          for (String branch : alone.getOrDefault(field, branches)) {
            received.computeIfAbsent(branch, b -> new LinkedHashMap<>()).put(field, value);
          }
        });
    for (String branch : branches) {
      Map<String, JsonNode> given = received.get(branch);
      if (given != null) {
        List<JsonNode> about = RunState.about(state.places, branch);
        state.branch(branch, b -> b.memory(b.memory().answer(given, about, state.tick)));
        touch(state, branch, given.keySet().stream().filter(alone::containsKey).toList());
      }
    }
  }

  private static void accepted(Draft state, Event.Accepted e) {
    String branch = e.place().branch();
    JsonNode value = e.value();
    accept(state, branch, e.field());
    if (value != null) {
      state.branch(branch, b -> b.memory(b.memory().normalise(e.field(), value)));
    }
    for (Map.Entry<String, JsonNode> set : e.sets().entrySet()) {
      write(state, branch, new Write(Write.Verb.SET, set.getKey(), set.getValue()));
    }
    state.at(e.place(), at -> at.accept(e.field(), state.called));
  }

  private static void accept(Draft state, String branch, String field) {
    state.branch(branch, b -> b.memory(b.memory().accept(field, state.tick)));
    touch(state, branch, field);
  }

  /** What an earlier pass of a loop left in the field is not the answer of this one. */
  private static void passed(Draft state, Event.Passed e) {
    String branch = e.place().branch();
    JsonNode value = e.value();
    state.branch(branch, b -> b.memory(b.memory().accept(e.field(), state.tick)));
    if (value != null) {
      write(state, branch, new Write(Write.Verb.SET, e.field(), value));
    } else if (!Paths.get(state.branch(branch).memory().data(), e.field()).isMissingNode()) {
      write(state, branch, new Write(Write.Verb.DELETE, e.field(), null));
    }
    state.at(e.place(), at -> at.accept(e.field(), state.called));
  }

  private static void rejected(Draft state, Event.Rejected e) {
    forget(state, e.place().branch(), List.of(e.field()));
    state.refused = RunState.plus(state.refused, new Violation(e.field(), e.message()));
    state.at(e.place(), at -> at.reject(e.field(), state.called, state.tick));
  }

  /** An answer whose check failed is no answer any more: nobody accepted it, or will check it. */
  private static void postponed(Draft state, Event.Postponed e) {
    StateMemory memory = state.branch(e.place().branch()).memory();
    if (memory.since(e.field(), e.place().node()) != null) {
      forget(state, e.place().branch(), List.of(e.field()));
    }
    state.at(e.place(), at -> at.postpone(e.field(), state.tick));
  }

  private static void misplaced(Draft state, Event.Misplaced e) {
    forget(state, e.place().branch(), e.fields());
    List<Violation> refused = new ArrayList<>(state.refused);
    e.fields().forEach(field -> refused.add(Violation.ofNoItem(field, e.items())));
    state.refused = refused;
  }

  private static void forget(Draft state, String branch, Collection<String> fields) {
    Map<String, JsonNode> none = new LinkedHashMap<>();
    fields.forEach(field -> none.put(field, NullNode.getInstance()));
    state.branch(branch, b -> b.memory(b.memory().answer(none, List.of(), state.tick)));
    touch(state, branch, fields);
  }

  private static PlaceState attemptFailed(PlaceState at, Event.AttemptFailed e) {
    return at.phase() instanceof Phase.Working working
        ? at.phase(working.failed(e.attempt(), e.retryAt()))
        : at;
  }

  private static void committed(Draft state, Event.Committed e) {
    String branch = e.place().branch();
    write(state, branch, e.writes());
    state.branch(branch, b -> b.commit(e.place().node(), state.tick));
    if (e.undoable()) {
      done(state, e.place());
    }
    String ends = e.ends();
    Phase next = ends == null ? new Phase.Leaving(null) : new Phase.Breaking(ends);
    state.at(e.place(), at -> at.phase(next));
  }

  /** From now on a place is among those that can be undone. */
  private static void done(Draft state, Place place) {
    Undo undo = new Undo(place, state.tick, state.branch(place.branch()).memory().data());
    state.done = RunState.plus(state.done, undo);
  }

  private static void write(Draft state, String branch, Write write) {
    write(state, branch, List.of(write));
  }

  private static void write(Draft state, String branch, List<Write> writes) {
    if (!writes.isEmpty()) {
      state.branch(branch, b -> b.memory(b.memory().write(writes, state.tick)));
      touch(state, branch, writes.stream().map(Write::path).toList());
    }
  }

  /** Only a branch needs to know what it has changed. */
  private static void touch(Draft state, String branch, String path) {
    touch(state, branch, List.of(path));
  }

  private static void touch(Draft state, String branch, Collection<String> paths) {
    if (!branch.isEmpty() && !paths.isEmpty()) {
      state.branch(branch, b -> b.touch(paths));
    }
  }

  private static void moved(Draft state, Event.Moved e) {
    state.changedAt = e.at();
    state.remove(e.from());
    state.branch(e.from().branch(), b -> b.leave(e.from().node(), state.tick));
    enter(state, e.to(), e.asks(), e.at());
  }

  private static void enter(Draft state, Place place, boolean asks, long at) {
    state.put(place, PlaceState.entered(at));
    state.branch(place.branch(), b -> b.enter(place, asks, state.tick));
    state.visitsInRun++;
    state.visitsInCall++;
  }

  // --- forks of runs --------------------------------------------------------------------------

  /** Times to answer run from now on; a moment that the run sleeps until stays. */
  private static void forkedFrom(Draft state, Event.ForkedFrom e) {
    long later = e.at() - e.origin().entryAt();
    RecordedResult.Known known = RecordedResult.Known.of(e.recorded());
    state.identity = state.identity.forked(new RunState.Fork(e.origin(), known, List.of(), false));
    state.startedAt = e.at();
    state.changedAt = e.at();
    state.done = List.of();
    Map<Place, PlaceState> places = new LinkedHashMap<>(state.places);
    places.replaceAll((place, at) -> at.forked(later));
    state.places = unseen(places, null);
    state.moved(true);
  }

  /**
   * What the fork has taken is used up until it goes back; once it leaves its source it takes
   * nothing any more.
   */
  private static RunState.Fork after(Draft state, RunState.Fork fork, Event event) {
    if (event instanceof Event.Reset reset) {
      return fork.back(reset, state.branches);
    }
    Place place = event.place();
    PlaceState at = place == null ? null : state.places.get(place);
    if (place == null || at == null) {
      return fork;
    } else if (event instanceof Event.Attempted e) {
      return known(state, fork, place, e.field()) == null ? fork.perform(place) : fork;
    } else if (at.phase() instanceof Phase.Working working && RecordedResult.isResult(event)) {
      RecordedResult known = known(state, fork, place, working.field());
      return known == null ? fork.perform(place) : fork.take(known, place, state.tick);
    }
    return fork;
  }

  private static @Nullable RecordedResult known(
      Draft state, RunState.Fork fork, Place place, @Nullable String field) {
    return place.undoes()
        ? null
        : fork.result(place, field, state.branch(place.branch()).memory().data());
  }

  // --- time -----------------------------------------------------------------------------------

  private static PlaceState slept(PlaceState at, Event.Slept e) {
    return at.waits(new Phase.Sleeping(e.until()), e.at());
  }

  private static PlaceState awaited(PlaceState at, Event.Awaited e) {
    return at.waits(new Phase.Awaiting(e.signal()), e.at()).waiting(e.limits());
  }

  private static void signalled(Draft state, Event.Signalled e) {
    uncalled(state);
    state.visitsInRun = 0;
    state.changedAt = e.at();
    state.signals = RunState.plus(state.signals, new RunState.Signal(e.signal(), e.payload()));
  }

  /** A wait is over; its node leads to the target, or its ordinary way. */
  private static void waited(Draft state, Place place, @Nullable String target, long now) {
    state.changedAt = now;
    rested(state, place, now);
    uncalled(state);
    state.at(place, at -> at.phase(new Phase.Leaving(target)));
  }

  private static void reminding(Draft state, Event.Reminding e) {
    PlaceState.Reminder sending = new PlaceState.Reminder(e.number(), e.at(), e.attempt());
    state.at(e.place(), at -> at.remind(sending));
  }

  private static void reminded(Draft state, Event.Reminded e) {
    PlaceState.Reminder next = new PlaceState.Reminder(e.number() + 1, e.next(), 0);
    state.at(e.place(), at -> at.remind(next));
  }

  /** A wait begins a new count of visits, unless it is so short that a loop would spin. */
  private static void rested(Draft state, Place place, long now) {
    PlaceState at = state.places.get(place);
    if (at != null && now - at.since() >= REST_MILLIS) {
      state.visitsInRun = 0;
    }
  }

  /** The run moves on by itself. Nobody has seen what it shows from here on. */
  private static void uncalled(Draft state) {
    hide(state, state.build().shown());
    List<Violation> refused = state.refused;
    state.moved(false);
    if (state.places.values().stream().anyMatch(at -> at.phase() instanceof Phase.Working)) {
      // A call may still wait for the check of another answer.
      state.refused = refused;
    }
  }

  /** The allowance of visits and the rejections are still those of the call that has begun it. */
  private static void unattended(Draft state, Event.Unattended e) {
    if (e.informed()) {
      hide(state, state.build().shown());
    } else {
      state.places = unseen(state.places, null);
    }
    state.called = false;
  }

  /** Where one widget is shown, nothing else is put. */
  private static void hide(Draft state, @Nullable Place shown) {
    if (shown != null) {
      state.places = unseen(state.places, shown);
    }
  }

  private static Map<Place, PlaceState> unseen(
      Map<Place, PlaceState> places, @Nullable Place except) {
    Map<Place, PlaceState> hidden = new LinkedHashMap<>(places);
    hidden.replaceAll((place, at) -> place.equals(except) ? at : at.phase(unseen(at.phase())));
    return hidden;
  }

  private static Phase unseen(Phase phase) {
    if (phase instanceof Phase.Showing showing) {
      return new Phase.Showing(showing.widget(), false);
    }
    return phase instanceof Phase.Asking ? new Phase.Asking(false) : phase;
  }

  /** The oldest of a name waits no more. */
  private static void takeSignal(Draft state, String name) {
    List<RunState.Signal> left = new ArrayList<>(state.signals);
    left.stream().filter(signal -> signal.name().equals(name)).findFirst().ifPresent(left::remove);
    state.signals = left;
  }

  private static void received(Draft state, Event.Received e) {
    takeSignal(state, e.signal());
    String field = e.field();
    JsonNode payload = e.payload();
    if (field != null && payload != null) {
      write(state, e.place().branch(), new Write(Write.Verb.SET, field, payload));
    }
    state.at(e.place(), at -> at.phase(new Phase.Leaving(null)));
  }

  // --- branches and sub-flows -----------------------------------------------------------------

  private static void forked(Draft state, Event.Forked e) {
    String from = e.place().branch();
    List<String> labels = e.heads().stream().map(Event.Head::label).toList();
    state.changedAt = e.at();
    state.branch(from, b -> b.leave(e.place().node(), state.tick));
    state.branch(from, b -> b.checkpoint(forkPoint(e.place().node()), state.tick));
    List<JsonNode> items = e.list() ? e.heads().stream().map(Fold::item).toList() : null;
    state.at(e.place(), at -> at.phase(new Phase.Forked(labels, items, Map.of())));
    for (Event.Head head : e.heads()) {
      String branch = head.place().branch();
      state.put(branch, state.branch(from).forked());
      enter(state, head.place(), head.asks(), e.at());
    }
  }

  private static JsonNode item(Event.Head head) {
    JsonNode item = head.item();
    return item == null ? Json.MAPPER.nullNode() : item;
  }

  /** What the moment before a fork is called among the checkpoints. */
  public static String forkPoint(String node) {
    return node + FORKS;
  }

  /** The node of a checkpoint. */
  public static String checkpointNode(String name) {
    return name.endsWith(FORKS) ? name.substring(0, name.length() - FORKS.length()) : name;
  }

  private static void arrived(Draft state, Event.Arrived e) {
    String branch = e.place().branch();
    state.changedAt = e.at();
    state.branch(branch, b -> b.leave(e.place().node(), state.tick));
    end(state, branch, new Phase.End(e.result(), null, null));
  }

  private static void branchFailed(Draft state, Event.BranchFailed e) {
    state.changedAt = e.at();
    interrupted(state, e.place().branch());
    List<Place> undo = e.undo() == null ? List.of() : e.undo();
    undo.forEach(place -> done(state, place));
    fold(state, e.place().branch());
    end(state, e.place().branch(), new Phase.End(null, e.code(), e.message()));
  }

  private static void end(Draft state, String branch, Phase.End end) {
    Place fork = Objects.requireNonNull(Place.forkOf(branch));
    state.leave(branch);
    state.at(fork, at -> forkedAt(at, f -> f.end(Place.labelOf(branch), end)));
  }

  private static PlaceState forkedAt(PlaceState at, UnaryOperator<Phase.Forked> change) {
    if (at.phase() instanceof Phase.Forked forked) {
      return at.phase(change.apply(forked));
    }
    return at.phase() instanceof Phase.Halted halted
            && halted.before() instanceof Phase.Forked before
        ? at.phase(change.apply(before))
        : at;
  }

  private static void joined(Draft state, Event.Joined e) {
    Place fork = e.place();
    state.changedAt = e.at();
    queueUndo(state, e.undo());
    join(state, fork.branch(), e.merged().stream().map(fork::branch).toList());
    e.dropped().forEach(label -> dropped(state, fork, fork.branch(label)));
    Set<String> made = changed(state, fork, e.merged());
    List<Write> news =
        e.writes().stream()
            .filter(write -> write.value() != null && !made.contains(write.path()))
            .toList();
    state.branch(
        fork.branch(), b -> b.memory(b.memory().written(news, state.tick).replace(e.writes())));
    touch(state, fork.branch(), e.writes().stream().map(Write::path).toList());
    List<String> all = new ArrayList<>(e.merged());
    all.addAll(e.dropped());
    all.forEach(label -> state.drop(fork.branch(label)));
    String ends = e.ends();
    Phase next = ends == null ? new Phase.Leaving(e.to()) : new Phase.Breaking(ends);
    state.at(fork, at -> at.phase(next));
  }

  /** What branches have changed, with what it is part of: a join adds the rest itself. */
  private static Set<String> changed(Draft state, Place fork, List<String> labels) {
    Set<String> changed = new HashSet<>();
    for (String label : labels) {
      for (String path : state.branch(fork.branch(label)).touched()) {
        changed.add(path);
        changed.addAll(Paths.around(path));
      }
    }
    return changed;
  }

  /** A step that was running in a branch may have run: it must not run once more. */
  private static void interrupted(Draft state, String name) {
    state.places.forEach(
        (place, at) -> {
          if (Place.within(place.branch(), name) && mayHaveRun(at.phase())) {
            state.branch(place.branch(), b -> b.commit(place.node(), state.tick));
          }
        });
  }

  /** Of what branches off a branch that is dropped, it knows itself what was said and done. */
  private static void fold(Draft state, String name) {
    List<String> inner =
        state.branches.keySet().stream()
            .filter(other -> !other.equals(name) && Place.within(other, name))
            .toList();
    join(state, name, inner);
    inner.forEach(state::forget);
  }

  /** Gives a branch what others that branch off it have learned, besides their data. */
  private static void join(Draft state, String name, List<String> others) {
    Map<String, StateMemory.Answer> said = answers(state, name);
    for (String other : others) {
      String fork = Objects.requireNonNull(Place.forkOf(other)).node();
      Branch joined = state.branch(other);
      state.branch(name, branch -> branch.join(joined, fork));
    }
    state.branch(name, branch -> branch.memory(branch.memory().knowing(said)));
  }

  private static boolean mayHaveRun(Phase phase) {
    return phase.busy() instanceof Phase.Working
        && !(phase instanceof Phase.Halted halted && halted.code().ofStep());
  }

  private static void dropped(Draft state, Place fork, String name) {
    interrupted(state, name);
    state.branches.forEach(
        (other, branch) -> {
          if (Place.within(other, name)) {
            state.branch(fork.branch(), b -> b.drop(branch, fork.node()));
          }
        });
  }

  private static void opened(Draft state, Event.Opened e) {
    String branch = e.place().branch();
    List<JsonNode> about = RunState.about(state.places, branch);
    state.branch(
        branch, b -> b.memory(b.memory().open(e.scope(), e.input(), e.kept(), about, state.tick)));
    touch(state, branch, e.scope());
    state.branch(branch, b -> b.begin(e.subflow()));
    state.at(e.place(), at -> at.phase(new Phase.Leaving(null)));
  }

  private static void closed(Draft state, Event.Closed e) {
    String branch = e.place().branch();
    state.branch(branch, b -> b.memory(b.memory().close(e.scope())));
    write(state, branch, e.writes());
    Place fork = Place.forkOf(branch);
    boolean item = fork != null && e.place().node().equals(fork.node() + "/" + Place.END);
    Phase next = item ? new Phase.Returning(e.result()) : new Phase.Leaving(null);
    state.at(e.place(), at -> at.phase(next));
  }

  private static void broken(Draft state, Event.Broken e) {
    if (e.end().equals(Place.END)) {
      state.end = new RunState.End(null, e.reason());
    }
    state.at(e.place(), at -> at.phase(new Phase.Leaving(e.end())));
  }

  // --- halting and going back ----------------------------------------------------------

  private static void stopped(Draft state, Event.Stopped e) {
    if (e.dropped() != null) {
      takeSignal(state, e.dropped());
    }
    changed(state, e, at -> stopped(at, e));
  }

  private static PlaceState stopped(PlaceState at, Event.Stopped e) {
    String checked = at.phase() instanceof Phase.Working working ? working.field() : null;
    String field = e.field() == null ? checked : e.field();
    Phase.Halted halted = at.phase() instanceof Phase.Halted already ? already : null;
    Phase before = halted == null ? at.phase() : halted.before();
    long since = halted == null ? e.at() : halted.since();
    return at.phase(new Phase.Halted(e.resume(), e.code(), e.message(), field, before, since));
  }

  private static void retried(Draft state, Event.Retried e) {
    state.moved(true);
    state.at(e.place(), Fold::resumed);
  }

  private static PlaceState resumed(PlaceState at) {
    if (!(at.phase() instanceof Phase.Halted halted)) {
      return at;
    }
    boolean repeats = halted.before() instanceof Phase.Working;
    boolean onlyHeld = halted.code() == ErrorCode.BRANCH_CANCELLED && !repeats;
    boolean continues =
        onlyHeld
            || halted.resume() == Event.Resume.LEAVING
            || halted.resume() == Event.Resume.JOINING;
    return at.phase(continues ? halted.before() : new Phase.Entering());
  }

  /**
   * A skipped action counts as committed: a correction must not make it run again. The answer whose
   * check is skipped counts as accepted.
   */
  private static void skipped(Draft state, Event.Skipped e) {
    state.moved(true);
    if (e.place().undoes()) {
      undone(state, e.place().undone());
      return;
    }
    String branch = e.place().branch();
    state.branch(branch, b -> b.commit(e.place().node(), state.tick));
    if (e.undoable()) {
      done(state, e.place());
    }
    PlaceState at = state.places.get(e.place());
    if (at != null && at.phase() instanceof Phase.Halted halted && halted.field() != null) {
      accept(state, branch, halted.field());
    }
    state.at(e.place(), PlaceState::skipped);
  }

  private static void reset(Draft state, Event.Reset e) {
    state.moved(true);
    state.changedAt = e.at();
    queueUndo(state, e.undo());
    for (Event.Back back : e.to()) {
      goBack(state, back, e);
    }
    List<String> corrected = e.to().stream().map(back -> back.place().branch()).toList();
    List<String> others =
        state.branches.keySet().stream()
            .filter(name -> corrected.stream().noneMatch(c -> Place.within(name, c)))
            .toList();
    applyAnswers(state, others, e.corrected(), e.recipients());
  }

  private static void goBack(Draft state, Event.Back back, Event.Reset e) {
    String name = back.place().branch();
    Branch branch = state.branch(name);
    Branch.Checkpoint checkpoint = branch.entered().get(back.checkpoint());
    if (checkpoint == null) {
      return;
    }
    Map<String, JsonNode> corrected = new LinkedHashMap<>(e.corrected());
    corrected.keySet().removeIf(field -> !concerns(name, field, e.recipients()));
    List<JsonNode> about = RunState.about(state.places, name);
    StateMemory restored =
        checkpoint
            .memory()
            .again(answers(state, name), checkpoint.tick(), state.tick)
            .answer(corrected, about, state.tick);
    state.drop(name);
    Branch earlier = branch.backTo(checkpoint, restored, back.place().node(), back.place().visit());
    state.put(name, earlier);
    Map<String, List<String>> recipients = e.recipients();
    if (recipients != null) {
      List<String> here = List.of(name);
      corrected.keySet().removeIf(f -> !recipients.getOrDefault(f, here).contains(name));
      touch(state, name, corrected.keySet());
    }
    PlaceState at = PlaceState.entered(e.at());
    state.put(back.place(), back.leaving() ? at.phase(new Phase.Leaving(null)) : at);
    Place fork = Place.forkOf(name);
    if (fork != null) {
      state.at(fork, there -> forkedAt(there, f -> f.reopen(Place.labelOf(name))));
    }
  }

  /**
   * What a branch got, and those that branch off it. What was given before they did is known in all
   * of them; once that which asked has withdrawn it, the others do not bring it back.
   */
  private static Map<String, StateMemory.Answer> answers(Draft state, String name) {
    List<StateMemory> memories = new ArrayList<>();
    Map<String, StateMemory.Answer> answers = new LinkedHashMap<>();
    state.branches.forEach(
        (other, branch) -> {
          if (Place.within(other, name)) {
            memories.add(branch.memory());
            branch
                .memory()
                .answers()
                .forEach((p, a) -> answers.merge(p, a, StateMemory.Answer::later));
          }
        });
    if (memories.size() > 1) {
      answers
          .entrySet()
          .removeIf(answer -> withdrawn(memories, answer.getKey(), answer.getValue().tick()));
    }
    return answers;
  }

  private static boolean withdrawn(List<StateMemory> memories, String field, long given) {
    return memories.stream().anyMatch(memory -> memory.withdrew(field, given))
        && memories.stream()
            .allMatch(memory -> memory.waits(field) || !memory.answers().containsKey(field));
  }

  /** Whether a field concerns a branch, or one that going back in it ends. */
  private static boolean concerns(
      String branch, String field, @Nullable Map<String, List<String>> recipients) {
    List<String> alone = recipients == null ? null : recipients.get(field);
    return alone == null || alone.stream().anyMatch(name -> Place.within(name, branch));
  }

  // --- undoing and ending ---------------------------------------------------------------------

  /** Places that have not committed are undone as well: what they did is not known. */
  private static void queueUndo(Draft state, List<Place> places) {
    for (Place place : places) {
      Undo undo =
          state.done.stream()
              .filter(d -> d.place().equals(place))
              .findFirst()
              .orElseGet(
                  () -> new Undo(place, state.tick, state.branch(place.branch()).memory().data()));
      state.undoing = RunState.plus(state.undoing, undo);
    }
    state.done = state.done.stream().filter(d -> !places.contains(d.place())).toList();
  }

  private static void undone(Draft state, Place place) {
    state.remove(place.undo());
    state.undoing = state.undoing.stream().filter(u -> !u.place().equals(place)).toList();
  }

  private static void ending(Draft state, Event.Ending e) {
    state.moved(true);
    state.changedAt = e.at();
    queueUndo(state, e.undo());
    Map<Place, PlaceState> undoing = new LinkedHashMap<>(state.places);
    undoing.keySet().removeIf(place -> !place.undoes());
    state.places = undoing;
    state.ending = new RunState.Ending(e.code(), e.message());
  }

  private static void completed(Draft state, Event.Completed e) {
    end(state, Status.COMPLETED, e.at());
    state.end = new RunState.End(e.result(), e.reason());
  }

  private static void failed(Draft state, Event.Failed e) {
    end(state, Status.FAILED, e.at());
    state.end = new RunState.End(null, e.message());
  }

  private static void end(Draft state, Status status, long at) {
    state.status = status;
    state.changedAt = at;
    state.places = Map.of();
  }
}

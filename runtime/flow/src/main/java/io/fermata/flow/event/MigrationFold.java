package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.RunState.Draft;
import io.fermata.flow.json.Paths;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What it means for a run's state that the run was carried over to another version. */
final class MigrationFold {
  private final Draft state;
  private final Event.Migrated event;
  private final Renaming names;

  MigrationFold(Draft state, Event.Migrated event) {
    this.state = state;
    this.event = event;
    this.names = Renaming.by(event);
  }

  void run() {
    Map<String, Branch> branches = new LinkedHashMap<>();
    state.branches.forEach(
        (name, branch) -> branches.put(names.branch(name), branch(name, branch)));
    Map<Place, PlaceState> places = new LinkedHashMap<>();
    for (Event.Carried carried : event.places()) {
      PlaceState at = Objects.requireNonNull(state.places.get(carried.from()));
      places.put(
          carried.to(), carried.reentered() ? PlaceState.entered(event.at()) : at(carried, at));
    }
    state.done = state.done.stream().map(this::done).toList();
    state.branches = branches;
    state.places = places;
    event.places().stream().filter(Event.Carried::reentered).forEach(this::enter);
    state.identity = state.identity.migrated(event);
    state.moved(false);
  }

  private void enter(Event.Carried carried) {
    Place to = carried.to();
    state.branch(to.branch(), branch -> branch.enter(to, carried.asks(), state.tick));
    state.visitsInRun++;
  }

  // --- places ---------------------------------------------------------------------------------

  private PlaceState at(Event.Carried carried, PlaceState at) {
    Set<String> accepted = new LinkedHashSet<>();
    at.accepted().forEach(path -> accepted.add(names.field(path)));
    return at.carried(
        phase(carried.from(), at.phase()),
        accepted,
        again(carried, at),
        carried.deadline(),
        carried.reminder());
  }

  /**
   * What was asked again still is. So is what has another name: another question may have had that
   * before.
   */
  private Map<String, Long> again(Event.Carried carried, PlaceState at) {
    Place from = carried.from();
    StateMemory memory = state.branch(from.branch()).memory();
    Map<String, Long> again = keys(at.again(), names::field);
    for (Event.Question question : at.lastOpen()) {
      String field = names.field(question.field());
      boolean renamed = !from.equals(carried.to()) || !field.equals(question.field());
      // An answer that could not be checked may be gone, and has been one to this question.
      Long unchecked = memory.since(question.field(), from.node());
      if (unchecked != null && unchecked >= again.getOrDefault(field, 0L)) {
        again.put(field, unchecked);
      } else if (renamed) {
        again.put(field, state.tick);
      }
    }
    return again;
  }

  /**
   * What waits for somebody is asked again, as the new version asks it; that may be able to check
   * an answer that could not be. A check that is an effect waits for a call, as every one does.
   */
  private Phase phase(Place place, Phase phase) {
    if (phase instanceof Phase.Waiting
        || (phase instanceof Phase.Halted at
            && at.unchecked()
            && !(at.before() instanceof Phase.Working))) {
      return new Phase.Entering();
    } else if (phase instanceof Phase.Working working && working.field() != null) {
      return working.checking(names.field(working.field()));
    } else if (phase instanceof Phase.Forked forked) {
      return forked(place, forked);
    } else if (phase instanceof Phase.Leaving leaving && leaving.to() != null) {
      return new Phase.Leaving(names.node(leaving.to()));
    } else if (phase instanceof Phase.Halted halted) {
      String field = halted.field() == null ? null : names.field(halted.field());
      return halted.carried(field, phase(place, halted.before()));
    }
    return phase;
  }

  private Phase forked(Place place, Phase.Forked forked) {
    if (forked.list()) {
      return forked;
    }
    List<String> labels = forked.labels().stream().map(label -> names.label(place, label)).toList();
    return new Phase.Forked(labels, null, keys(forked.ended(), label -> names.label(place, label)));
  }

  // --- what the run knows ---------------------------------------------------------------------

  private Branch branch(String name, Branch branch) {
    Map<String, Branch.Checkpoint> entered = new LinkedHashMap<>();
    branch
        .entered()
        .forEach(
            (step, known) ->
                entered.put(
                    names.checkpoint(step),
                    new Branch.Checkpoint(
                        known.tick(),
                        relocated(name, step, memory(known.memory(), writes(name, step, null))),
                        keys(known.passes(), names::node))));
    Set<String> touched = new LinkedHashSet<>();
    branch.touched().forEach(path -> touched.add(names.field(path)));
    List<Write> writes = writes(name, null, null);
    if (!name.isEmpty()) {
      writes.forEach(write -> touched.add(write.path()));
    }
    return new Branch(
        relocated(name, null, memory(branch.memory(), writes)),
        keys(branch.visits(), names::node),
        keys(branch.passes(), names::node),
        entered,
        keys(branch.committed(), names::node),
        touched);
  }

  private RunState.Undo done(RunState.Undo done) {
    ObjectNode data = rewritten(done.data(), writes(done.place().branch(), null, done.place()));
    return new RunState.Undo(names.place(done.place()), done.tick(), data);
  }

  private List<Write> writes(String branch, @Nullable String checkpoint, @Nullable Place done) {
    return event.rewrites().stream()
        .filter(rewrite -> rewrite.branch().equals(branch))
        .filter(rewrite -> Objects.equals(rewrite.checkpoint(), checkpoint))
        .filter(rewrite -> Objects.equals(rewrite.done(), done))
        .findFirst()
        .map(Event.Rewrite::writes)
        .orElse(List.of());
  }

  private ObjectNode rewritten(ObjectNode data, List<Write> writes) {
    return Write.all(names.renamed(data), writes);
  }

  private StateMemory memory(StateMemory memory, List<Write> writes) {
    ObjectNode renamed = names.renamed(memory.data());
    ObjectNode data = Write.all(renamed, writes);
    Map<String, StateMemory.Answer> answers = keys(memory.answers(), names::field);
    Set<String> changed = new LinkedHashSet<>();
    writes.forEach(write -> changed.add(write.path()));
    for (String path : List.copyOf(answers.keySet())) {
      if (Paths.anyRelated(changed, path)) {
        answer(answers, path, Paths.get(data, path));
      }
    }
    Map<String, Long> written = keys(memory.written(), names::field);
    Set<String> known = new HashSet<>(written.keySet());
    known.removeIf(path -> !Paths.filled(Paths.get(renamed, path)));
    for (String path : changed) {
      fill(written, known, path, Paths.get(renamed, path), Paths.get(data, path));
    }
    return new StateMemory(
        data,
        answers,
        keys(memory.accepted(), names::field),
        written,
        keys(memory.left(), names::node),
        0);
  }

  private StateMemory relocated(String name, @Nullable String step, StateMemory memory) {
    List<Event.Relocated> all = event.relocated();
    if (all == null) {
      return memory;
    }
    String branch = names.branch(name);
    String checkpoint = step == null ? null : names.checkpoint(step);
    StateMemory relocated = memory;
    for (Event.Relocated one : all) {
      if (one.branch().equals(branch) && Objects.equals(one.checkpoint(), checkpoint)) {
        relocated = relocated.relocate(one.node(), one.field());
      }
    }
    return relocated;
  }

  /**
   * Notes what was filled, so that nobody is asked for it. What was rewritten is no newer than it
   * was: the next pass of a loop asks for it.
   *
   * @param known what was written and has a value
   */
  private void fill(
      Map<String, Long> written, Set<String> known, String path, JsonNode before, JsonNode after) {
    if (!Paths.filled(after)) {
      return;
    }
    if (!Paths.filled(before) && !Paths.anyRelated(known, path)) {
      written.put(path, state.tick);
      return;
    }
    for (Map.Entry<String, JsonNode> part : after.properties()) {
      String name = path + "." + part.getKey();
      fill(written, known, name, before.path(part.getKey()), part.getValue());
    }
  }

  /** A value that was rewritten is the answer from now on: what was said before may not fit. */
  private static void answer(Map<String, StateMemory.Answer> answers, String path, JsonNode value) {
    StateMemory.Answer old = Objects.requireNonNull(answers.get(path));
    if (Paths.filled(value)) {
      answers.put(path, new StateMemory.Answer(value, old.tick(), old.earlier(), old.about()));
    } else {
      answers.remove(path);
    }
  }

  private static <V> Map<String, V> keys(Map<String, V> map, UnaryOperator<String> name) {
    Map<String, V> renamed = new LinkedHashMap<>();
    map.forEach((key, value) -> renamed.put(name.apply(key), value));
    return renamed;
  }
}

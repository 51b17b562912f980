package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.RunState.Draft;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What it means for a run's state that the run was carried over to another version. */
public final class MigrationFold {
  private final Draft state;
  private final Event.Migrated event;

  MigrationFold(Draft state, Event.Migrated event) {
    this.state = state;
    this.event = event;
  }

  void run() {
    Map<String, Branch> branches = new LinkedHashMap<>();
    state.branches.forEach((name, branch) -> branches.put(branch(name), branch(name, branch)));
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

  // --- names ----------------------------------------------------------------------------------

  /** The new name of a node, or of what is named after it. */
  private String node(String name) {
    return renamed(name, event.nodes(), '/');
  }

  private String field(String path) {
    return field(path, event.fields());
  }

  /** The new name of a field, where {@code *} in the names stands for any item of a list. */
  public static String field(String path, Map<String, String> fields) {
    String at = path;
    while (at != null) {
      String now = fields.get(at);
      now = now == null ? inItem(at, fields) : now;
      if (now != null) {
        return now + path.substring(at.length());
      }
      int dot = at.lastIndexOf('.');
      at = dot < 0 ? null : at.substring(0, dot);
    }
    return path;
  }

  private static @Nullable String inItem(String path, Map<String, String> fields) {
    String[] parts = path.split("\\.", -1);
    for (Map.Entry<String, String> each : fields.entrySet()) {
      String[] old = each.getKey().split("\\.", -1);
      List<String> items = new ArrayList<>();
      boolean named = old.length == parts.length;
      for (int i = 0; named && i < parts.length; i++) {
        boolean item = old[i].equals(Paths.ANY);
        named = item || old[i].equals(parts[i]);
        if (item) {
          items.add(parts[i]);
        }
      }
      if (named) {
        return inItems(each.getValue(), items);
      }
    }
    return null;
  }

  private static String inItems(String field, List<String> items) {
    Iterator<String> next = items.iterator();
    List<String> parts = new ArrayList<>();
    for (String part : field.split("\\.", -1)) {
      parts.add(part.equals(Paths.ANY) && next.hasNext() ? next.next() : part);
    }
    return String.join(".", parts);
  }

  /** A name that changes with the longest of those it begins with. */
  public static String renamed(String name, Map<String, String> names, char separator) {
    for (String at = name; ; at = at.substring(0, at.lastIndexOf(separator))) {
      String now = names.get(at);
      if (now != null) {
        return now + name.substring(at.length());
      }
      if (at.lastIndexOf(separator) < 0) {
        return name;
      }
    }
  }

  private String checkpoint(String name) {
    return checkpoint(name, event.nodes());
  }

  /** The name of a checkpoint: that of a node, or of the moment before it forked. */
  public static String checkpoint(String name, Map<String, String> nodes) {
    String fork = Fold.forkPoint("");
    return name.endsWith(fork)
        ? Fold.forkPoint(renamed(name.substring(0, name.length() - fork.length()), nodes, '/'))
        : renamed(name, nodes, '/');
  }

  /** The new name of a place. */
  public static Place place(Place place, Map<String, String> nodes) {
    return new Place(
        branch(place.branch(), nodes), renamed(place.node(), nodes, '/'), place.visit());
  }

  private Place place(Place place) {
    return place(place, event.nodes());
  }

  private String branch(String name) {
    return branch(name, event.nodes());
  }

  /** A branch is named after the place that forked and the node that it begins with. */
  public static String branch(String name, Map<String, String> nodes) {
    Place fork = Place.forkOf(name);
    return fork == null ? name : place(fork, nodes).branch(label(fork, Place.labelOf(name), nodes));
  }

  /** The item of a list is a number, which no node of the same flow is taken for. */
  public static String label(Place fork, String label, Map<String, String> nodes) {
    String node = fork.node();
    String head = node.substring(0, node.lastIndexOf('/') + 1) + label;
    String now = nodes.getOrDefault(head, label);
    return now.substring(now.lastIndexOf('/') + 1);
  }

  // --- places ---------------------------------------------------------------------------------

  private PlaceState at(Event.Carried carried, PlaceState at) {
    Set<String> accepted = new LinkedHashSet<>();
    at.accepted().forEach(path -> accepted.add(field(path)));
    return at.carried(
        phase(carried.from(), at.phase()), accepted, carried.deadline(), carried.reminder());
  }

  /** What waits for somebody is asked again, as the new version asks it. */
  private Phase phase(Place place, Phase phase) {
    if (phase instanceof Phase.Asking
        || phase instanceof Phase.Showing
        || phase instanceof Phase.Awaiting) {
      return new Phase.Entering();
    } else if (phase instanceof Phase.Working working && working.field() != null) {
      return new Phase.Working(field(working.field()), working.attempt(), working.retryAt());
    } else if (phase instanceof Phase.Forked forked) {
      return forked(place, forked);
    } else if (phase instanceof Phase.Leaving leaving && leaving.to() != null) {
      return new Phase.Leaving(node(leaving.to()));
    } else if (phase instanceof Phase.Halted halted) {
      String field = halted.field() == null ? null : field(halted.field());
      return new Phase.Halted(
          halted.resume(), halted.code(), halted.message(), field, phase(place, halted.before()));
    }
    return phase;
  }

  private Phase forked(Place place, Phase.Forked forked) {
    if (forked.list()) {
      return forked;
    }
    List<String> labels =
        forked.labels().stream().map(label -> label(place, label, event.nodes())).toList();
    return new Phase.Forked(
        labels, null, keys(forked.ended(), label -> label(place, label, event.nodes())));
  }

  // --- what the run knows ---------------------------------------------------------------------

  private Branch branch(String name, Branch branch) {
    Map<String, Branch.Checkpoint> entered = new LinkedHashMap<>();
    branch
        .entered()
        .forEach(
            (step, known) ->
                entered.put(
                    checkpoint(step),
                    new Branch.Checkpoint(
                        known.tick(),
                        memory(known.memory(), writes(name, step, null)),
                        keys(known.passes(), this::node))));
    Set<String> touched = new LinkedHashSet<>();
    branch.touched().forEach(path -> touched.add(field(path)));
    List<Write> writes = writes(name, null, null);
    if (!name.isEmpty()) {
      writes.forEach(write -> touched.add(write.path()));
    }
    return new Branch(
        memory(branch.memory(), writes),
        keys(branch.visits(), this::node),
        keys(branch.passes(), this::node),
        entered,
        keys(branch.committed(), this::node),
        touched);
  }

  private RunState.Undo done(RunState.Undo done) {
    ObjectNode data = rewritten(done.data(), writes(done.place().branch(), null, done.place()));
    return new RunState.Undo(place(done.place()), done.tick(), data);
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
    return Write.all(renamed(data, event.fields()), writes);
  }

  /** The value at a path by the new names of what lies in it; the empty path is the whole state. */
  static JsonNode value(String path, JsonNode value, Map<String, String> fields) {
    return path.isEmpty()
        ? renamed((ObjectNode) value, fields)
        : Paths.get(renamed(Paths.set(Json.object(), path, value), fields), field(path, fields));
  }

  /**
   * What lies in the value at a path and has a new name outside of it, by that name; missing where
   * the value has no such part.
   */
  static Map<String, JsonNode> movedOut(String path, JsonNode value, Map<String, String> fields) {
    JsonNode whole = value.isObject() ? value : Json.object();
    ObjectNode before = path.isEmpty() ? Json.object() : Paths.set(Json.object(), path, whole);
    ObjectNode after = renamed(before, fields);
    String now = field(path, fields);
    Map<String, JsonNode> moved = new LinkedHashMap<>();
    here(before, fields)
        .forEach(
            (old, name) -> {
              boolean stays = name.equals(now) || name.startsWith(now + ".");
              if (old.startsWith(path + ".") && !stays) {
                moved.put(name, Paths.get(after, name));
              }
            });
    return moved;
  }

  /**
   * All old names are taken away before the new ones come, so that two may be exchanged. What lies
   * in a renamed part under a name of its own is taken away before that, and comes after it.
   */
  public static ObjectNode renamed(ObjectNode data, Map<String, String> fields) {
    Map<String, String> names = here(data, fields);
    Deque<Map.Entry<String, JsonNode>> taken = new ArrayDeque<>();
    ObjectNode next = data;
    for (String old : innermostFirst(names.keySet())) {
      JsonNode value = Paths.get(next, old);
      if (!value.isMissingNode()) {
        taken.push(Map.entry(Objects.requireNonNull(names.get(old)), value));
      }
      next = Paths.delete(next, old);
    }
    for (Map.Entry<String, JsonNode> field : taken) {
      next = Paths.set(next, field.getKey(), field.getValue());
    }
    return next;
  }

  private static List<String> innermostFirst(Set<String> names) {
    return names.stream().sorted(Comparator.comparing(String::length).reversed()).toList();
  }

  /** The new names of the fields of a state by their old ones, in each item of its lists. */
  public static Map<String, String> here(ObjectNode data, Map<String, String> fields) {
    Map<String, String> here = new LinkedHashMap<>();
    fields.forEach(
        (old, now) ->
            paths(data, List.of(old.split("\\.", -1)), List.of())
                .forEach(path -> here.put(path, field(path, Map.of(old, now)))));
    return here;
  }

  /** The paths that a name has in a tree. */
  private static List<String> paths(JsonNode at, List<String> name, List<String> before) {
    if (before.size() == name.size()) {
      return List.of(String.join(".", before));
    }
    String part = name.get(before.size());
    List<String> parts = new ArrayList<>(List.of(part));
    if (part.equals(Paths.ANY)) {
      parts.clear();
      at.fieldNames().forEachRemaining(parts::add);
    }
    List<String> paths = new ArrayList<>();
    parts.forEach(one -> paths.addAll(paths(at.path(one), name, RunState.plus(before, one))));
    return paths;
  }

  private StateMemory memory(StateMemory memory, List<Write> writes) {
    ObjectNode data = rewritten(memory.data(), writes);
    Map<String, StateMemory.Answer> answers = keys(memory.answers(), this::field);
    Set<String> changed = new LinkedHashSet<>();
    writes.forEach(write -> changed.add(write.path()));
    for (String path : List.copyOf(answers.keySet())) {
      if (Paths.anyRelated(changed, path)) {
        answer(answers, path, Paths.get(data, path));
      }
    }
    return new StateMemory(
        data,
        answers,
        keys(memory.accepted(), this::field),
        keys(memory.written(), this::field),
        keys(memory.left(), this::node),
        0);
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

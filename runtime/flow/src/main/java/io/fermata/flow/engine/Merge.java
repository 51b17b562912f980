package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Branch;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.route.Reducer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the branches of a fork have changed, put together. Pure; only reducers are an author's. */
final class Merge {
  private final ObjectNode before;
  private final ObjectNode now;
  private final Map<String, Branch> branches;
  private final Map<String, Reducer> reducers;
  private final List<Write> writes = new ArrayList<>();
  private final List<String> conflicts = new ArrayList<>();

  /** The result of a merge. */
  record Merged(List<Write> writes, List<String> conflicts) {}

  /**
   * @param before what was known at the fork
   * @param now the same, with what all got since
   * @param branches those that arrived, in the order they were declared
   * @param reducers of the fields that have one, by their whole path
   */
  Merge(
      ObjectNode before,
      ObjectNode now,
      Map<String, Branch> branches,
      Map<String, Reducer> reducers) {
    this.before = before;
    this.now = now;
    this.branches = branches;
    this.reducers = reducers;
  }

  Merged merged() {
    changed().forEach(this::field);
    return new Merged(writes, conflicts);
  }

  /** The changed paths, each with its branches; those within another are covered by it. */
  private Map<String, Map<String, Branch>> changed() {
    Set<String> all = new LinkedHashSet<>();
    branches.values().forEach(b -> b.touched().forEach(path -> all.add(whole(path))));
    Map<String, Map<String, Branch>> changed = new LinkedHashMap<>();
    for (String path : all) {
      if (outermost(path, all).equals(path)) {
        changed.put(path, new LinkedHashMap<>());
      }
    }
    branches.forEach(
        (label, branch) -> {
          for (String path : branch.touched()) {
            changed
                .computeIfAbsent(outermost(whole(path), all), p -> new LinkedHashMap<>())
                .put(label, branch);
          }
        });
    return changed;
  }

  /** The path of a reduced field that contains this one, or else the path itself. */
  private String whole(String path) {
    return reducers.keySet().stream()
        .filter(field -> path.startsWith(field + "."))
        .findFirst()
        .orElse(path);
  }

  private static String outermost(String path, Set<String> all) {
    return Paths.around(path).stream().filter(all::contains).findFirst().orElse(path);
  }

  private void field(String path, Map<String, Branch> touching) {
    JsonNode old = Paths.get(before, path);
    Map<String, JsonNode> changed = new LinkedHashMap<>();
    touching.forEach(
        (label, branch) -> {
          JsonNode value = Paths.get(branch.memory().data(), path);
          if (!Json.same(value, old)) {
            changed.put(label, value);
          }
        });
    Reducer reducer = reducers.get(path);
    List<JsonNode> values = new ArrayList<>(changed.values());
    if (values.isEmpty()) {
      write(path, present(old));
    } else if (reducer != null) {
      JsonNode reduced = reducer.reduce(own(old), values.stream().map(Merge::own).toList());
      write(path, present(Json.tree(reduced)));
    } else if (values.stream().allMatch(value -> Json.same(value, values.get(0)))) {
      write(path, present(values.get(0)));
    } else {
      conflicts.add(path + " (" + String.join(", ", changed.keySet()) + ")");
    }
  }

  private void write(String path, @Nullable JsonNode value) {
    JsonNode known = present(Paths.get(now, path));
    if (value == null ? known == null : known != null && Json.same(value, known)) {
      return;
    }
    writes.add(new Write(value == null ? Write.Verb.DELETE : Write.Verb.SET, path, value));
  }

  /** What a reducer may change. */
  private static @Nullable JsonNode own(JsonNode value) {
    JsonNode present = present(value);
    return present == null ? null : present.deepCopy();
  }

  private static @Nullable JsonNode present(JsonNode value) {
    return value.isMissingNode() || value.isNull() ? null : value;
  }
}

package io.fermata.flow;

import io.fermata.flow.event.Renaming;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The migrations of a flow, one for each earlier version whose runs it takes over. Each leads to
 * the next version that there is one for, and the last of them to the flow itself, so a new version
 * keeps those of the one before and adds its own.
 */
public final class MigrationPath {
  private final Flow<?> flow;
  private final NavigableMap<Integer, Migration> byVersion;

  public MigrationPath(Flow<?> flow) {
    this.flow = flow;
    this.byVersion = new TreeMap<>(flow.migrations());
  }

  /** The migrations, by the version that they lead from. */
  public NavigableMap<Integer, Migration> from() {
    return byVersion;
  }

  /** The secret fields of the flow, and those of the versions that its runs come from. */
  SecretFields secretFields(SecretFields own) {
    SecretFields all = own;
    for (Map.Entry<Integer, Migration> each : byVersion.descendingMap().entrySet()) {
      Renaming names = names(each.getValue(), byVersion.higherKey(each.getKey()));
      all = all.before(names.fields(), each.getValue().secrets());
    }
    return all;
  }

  /** What is wrong with them, once the rest of the flow is known to be right. */
  List<String> defects() {
    List<String> defects = new ArrayList<>();
    byVersion.forEach(
        (from, migration) -> {
          String name = "The migration from version " + from + " ";
          migration.defects().forEach(defect -> defects.add(name + defect));
          if (from < 1 || from >= flow.version()) {
            String none = "is none: the flow is version " + flow.version();
            defects.add(name + none + ", and only earlier ones, from 1 on, are carried over");
          }
          nodes(migration).forEach((old, now) -> node(name, from, old, now, defects));
          if (from.equals(byVersion.lastKey())) {
            migration.fields().forEach((old, now) -> field(name, old, now, defects));
          }
        });
    return defects;
  }

  private static Map<String, String> nodes(Migration migration) {
    Map<String, String> all = new LinkedHashMap<>(migration.nodes());
    all.putAll(migration.removed());
    return all;
  }

  private void node(String name, int from, String old, String now, List<String> defects) {
    String last = inTheEnd(from, now);
    if (!flow.graph().has(last)) {
      String near = Nearest.suggestion(last, flow.nodeIds());
      defects.add(name + "leads to " + last + ", but there is no such node" + near);
    }
    Map<String, String> mounts = Objects.requireNonNull(byVersion.get(from)).nodes();
    if (!new Renaming(mounts, Map.of()).node(flowOf(old)).equals(flowOf(now))) {
      defects.add(name + "takes " + old + " into another flow, to " + now + "; stay in the same");
    }
  }

  private static String flowOf(String node) {
    return node.substring(0, Math.max(0, node.lastIndexOf('/')));
  }

  /** The node that a migration says is gone, the given one or one around it, and where it leads. */
  public static Map.@Nullable Entry<String, String> removedAround(
      Migration migration, String node) {
    for (String at = node; ; at = flowOf(at)) {
      String target = migration.removed().get(at);
      if (target != null || at.isEmpty()) {
        return target == null ? null : Map.entry(at, target);
      }
    }
  }

  /** What later migrations make of a node that one of them leads to. */
  public String inTheEnd(int from, String node) {
    String at = node;
    for (Migration later : byVersion.tailMap(from, false).values()) {
      Map.Entry<String, String> removed = removedAround(later, at);
      at = removed == null ? new Renaming(later.nodes(), Map.of()).node(at) : removed.getValue();
    }
    return at;
  }

  private void field(String name, String old, String field, List<String> defects) {
    if (items(old) != items(field)) {
      String where =
          "takes %s out of the items of a list or into them, to %s".formatted(old, field);
      defects.add(name + where + "; write a * for each of the items in both names");
    }
    if (flow.schema().field(field.replace(Paths.ANY, "0")) == null) {
      String near = Nearest.suggestion(field, flow.schema().paths());
      defects.add(name + "puts a value into " + field + ", which the state does not have" + near);
    }
  }

  private static long items(String field) {
    return Stream.of(field.split("\\.")).filter(Paths.ANY::equals).count();
  }

  /** The new names after a migration, also of what moves with a node that mounts it. */
  public Renaming names(Migration migration, @Nullable Integer next) {
    Map<String, String> fields = new LinkedHashMap<>(migration.fields());
    migration.nodes().forEach((old, now) -> mounted(old, now, next, fields));
    return new Renaming(migration.nodes(), fields);
  }

  /** The state of a sub-flow moves with the node that mounts it. */
  private void mounted(String old, String now, @Nullable Integer next, Map<String, String> fields) {
    String last = next == null ? now : inTheEnd(next - 1, now);
    // With the node that mounts its flow it is gone.
    boolean there = depth(last) == depth(now) && flow.graph().has(last);
    if (there && flow.graph().step(last).node() instanceof Node.Nested) {
      FieldScope<?> around = flow.graph().step(last).scope();
      fields.putIfAbsent(home(old, around), home(now, around));
    }
  }

  private static long depth(String node) {
    return node.chars().filter(c -> c == '/').count();
  }

  /** Where the state of a mounted flow lives, with {@code *} for the items of lists around it. */
  private static String home(String node, FieldScope<?> around) {
    int mount = node.lastIndexOf('/');
    return mount < 0
        ? node
        : home(node.substring(0, mount), Objects.requireNonNull(around.parent()))
            + (around.each() ? ".*." : ".")
            + node.substring(mount + 1);
  }
}

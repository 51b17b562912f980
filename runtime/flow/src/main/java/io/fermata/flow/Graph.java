package io.fermata.flow;

import io.fermata.flow.event.Place;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Reached;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.route.Route;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The whole graph of a run: a flow with the sub-flows that it mounts, and theirs. A sub-flow needs
 * no machinery of its own, its steps are steps of the run whose paths begin with the node that
 * mounts it.
 */
public final class Graph {
  private final Map<String, Step<?>> steps = new LinkedHashMap<>();
  private final Map<String, Map<String, String>> sides = new LinkedHashMap<>();

  /** Made on first use, perhaps by several threads, so it is immutable. */
  private @Nullable Set<String> back;

  Graph(Flow<?> flow) {
    add(new FieldScope<>("", flow, null, false), null, Map.of());
  }

  /** Adds a flow; what leads out of the node that mounts it leads out of its end, too. */
  private <S extends Record> void add(
      FieldScope<S> scope, @Nullable Step<?> mount, Map<String, String> around) {
    Flow<S> flow = scope.flow();
    Map<String, Map<String, String>> within = new Regions(flow).sides();
    put(
        new Step<>(scope.node(Flow.START), scope, null, flow.routes().get(Flow.START), null),
        around);
    for (Node<S> node : flow.nodes().values()) {
      Map<String, String> outer = new LinkedHashMap<>();
      within
          .getOrDefault(node.id(), Map.of())
          .forEach((fork, head) -> outer.put(scope.node(fork), head));
      outer.putAll(around);
      node(scope, node, outer);
    }
    end(scope, mount, around);
  }

  private <S extends Record> void node(
      FieldScope<S> scope, Node<S> node, Map<String, String> around) {
    String path = scope.node(node.id());
    Step<S> own = new Step<>(path, scope, node, scope.flow().routes().get(node.id()), null);
    if (node instanceof Node.Mount<S, ?> mount) {
      Route in = new Route.Edge(node.id() + "/" + Flow.START);
      put(new Step<>(path, scope, node, in, null), around);
      add(new FieldScope<>(path, mount.flow(), scope, false), own, around);
    } else {
      put(own, around);
      if (node instanceof Node.Each<S, ?> each) {
        Map<String, String> inner = new LinkedHashMap<>(Map.of(path, Paths.ANY));
        inner.putAll(around);
        add(new FieldScope<>(path, each.flow(), scope, true), null, inner);
      }
    }
  }

  private void end(FieldScope<?> scope, @Nullable Step<?> mount, Map<String, String> around) {
    String path = scope.node(Flow.END);
    put(
        mount == null
            ? new Step<>(path, scope, null, null, scope)
            : new Step<>(path, mount.scope(), null, mount.route(), scope),
        around);
  }

  private void put(Step<?> step, Map<String, String> around) {
    steps.put(step.path(), step);
    sides.put(step.path(), around);
  }

  public Collection<Step<?>> steps() {
    return steps.values();
  }

  public boolean has(String path) {
    return steps.containsKey(path);
  }

  public Step<?> step(String path) {
    return Objects.requireNonNull(steps.get(path), () -> "There is no step " + path);
  }

  public Step<?> step(Place place) {
    return step(place.undone().node());
  }

  /** The nodes that fork around a step, the innermost first. */
  public List<String> forksAround(String path) {
    return List.copyOf(sides(path).keySet());
  }

  /** The forks around a step, the innermost first, with the branch of each that it lies in. */
  public Map<String, String> sides(String path) {
    return sides.getOrDefault(path, Map.of());
  }

  /** Where the run continues once the branches of a step that forked have joined. */
  public List<String> beyond(String path, boolean list) {
    Step<?> step = step(path);
    if (!list && step.route() instanceof Route.Fork fork) {
      return List.of(step.scope().node(fork.join()));
    }
    Route route = Objects.requireNonNull(step.route());
    return route.targets().stream().map(target -> step.scope().node(target)).toList();
  }

  /** Where a step may lead. */
  public List<String> targets(String path) {
    Step<?> step = step(path);
    List<String> targets = new ArrayList<>();
    if (step.node() instanceof Node.Each) {
      targets.add(path + "/" + Flow.START);
    }
    Route route = step.route();
    if (route != null) {
      route.targets().forEach(target -> targets.add(step.scope().node(target)));
    }
    if (step.node() != null) {
      String late = step.scope().flow().waiting(step.node().id()).target();
      if (late != null) {
        targets.add(step.scope().node(late));
      }
    }
    return targets;
  }

  /** Whether a way between two steps leads back to where the run has been. */
  public boolean leadsBack(String from, String to) {
    Set<String> known = back;
    if (known == null) {
      known = Set.copyOf(new Reachability(this).back());
      back = known;
    }
    return known.contains(Reachability.way(from, to));
  }

  /** The recorders of the run's flow, and of its sub-flows where they are mounted. */
  List<AttachedRecorder> recorders() {
    List<AttachedRecorder> attached = new ArrayList<>();
    for (Step<?> step : steps.values()) {
      Set<String> here = Set.of(step.scope().path());
      step.scope().flow().ownRecorders().forEach(r -> attached.add(new AttachedRecorder(r, here)));
    }
    return AttachedRecorder.once(attached);
  }

  SecretFields secretFields() {
    return SecretFields.of(steps.values());
  }

  /** All that can be reached from these steps, themselves included. */
  public Set<String> reachable(Collection<String> from) {
    return Reached.from(from, this::targets);
  }

  /** The same without going back to where the run has been. */
  public Set<String> ahead(Collection<String> from) {
    return Reached.from(from, at -> targets(at).stream().filter(to -> !leadsBack(at, to)).toList());
  }

  /** The steps that ask for a field, or for a part of it, or for what it is part of. */
  public List<Step<?>> askers(String field) {
    return steps.values().stream().filter(step -> asks(step, field)).toList();
  }

  private static boolean asks(Step<?> step, String field) {
    Node<?> node = step.node();
    if (node == null) {
      return false;
    }
    String template = step.scope().template();
    return node.fields().stream().anyMatch(asked -> Paths.like(template + asked, field));
  }

  /** Whether a step that asks for a field asks for it in this branch: an item has its own. */
  public static boolean concerns(Step<?> step, Place place, String field) {
    return asked(step, place).stream().anyMatch(asked -> Paths.related(asked, field));
  }

  /** The same; where no item is known yet, whether it asks for it for any. */
  public static boolean concernsAny(Step<?> step, Place place, String field) {
    return asked(step, place).stream().anyMatch(asked -> Paths.like(asked, field));
  }

  /** The fields that a step asks for in this branch, with {@code *} for an item not known yet. */
  public static List<String> asked(Step<?> step, Place place) {
    Node<?> node = step.node();
    String prefix = step.scope().prefix(place);
    return node == null ? List.of() : node.fields().stream().map(prefix::concat).toList();
  }

  /** Whether the code of a step, or a rule after it, may look at a field of its flow's state. */
  public static boolean mayRead(Step<?> step, Place place, String field) {
    String prefix = step.scope().prefix(place);
    String own = field.startsWith(prefix) ? field.substring(prefix.length()) : "";
    Route route = step.route();
    return step.scope().schema().typeAt(own) != null
        && (mayRead(step.node(), own)
            || (route != null && route.rules().stream().anyMatch(rule -> rule.mayRead(own))));
  }

  private static boolean mayRead(@Nullable Node<?> node, String field) {
    if (node instanceof Node.Act<?> act) {
      return act.reads().isEmpty()
          || act.reads().stream().anyMatch(read -> Paths.related(read, field));
    }
    return node instanceof Node.Mount<?, ?> mount
        ? mount.input() != null
        : node instanceof Node.Compute || node instanceof Node.Each;
  }

  /** The branches of each flow: which nodes lie between a fork and its join. */
  static final class Regions {
    private final Flow<?> flow;

    Regions(Flow<?> flow) {
      this.flow = flow;
    }

    /** The nodes of a branch. */
    Set<String> branch(String head, Route.Fork fork) {
      return Reached.from(
          List.of(head),
          node -> flow.targets(node).stream().filter(to -> !to.equals(fork.join())).toList());
    }

    /** The forks around each node, the innermost first, with the head of its branch. */
    Map<String, Map<String, String>> sides() {
      Map<String, List<Side>> found = new LinkedHashMap<>();
      flow.routes()
          .forEach(
              (from, route) -> {
                if (route instanceof Route.Fork fork) {
                  for (String head : fork.heads()) {
                    Set<String> region = branch(head, fork);
                    Side side = new Side(from, head, region.size());
                    region.forEach(
                        node -> found.computeIfAbsent(node, n -> new ArrayList<>()).add(side));
                  }
                }
              });
      Map<String, Map<String, String>> sides = new LinkedHashMap<>();
      found.forEach(
          (node, of) -> {
            of.sort(Comparator.comparingInt(Side::size));
            Map<String, String> heads = new LinkedHashMap<>();
            of.forEach(side -> heads.putIfAbsent(side.fork(), side.head()));
            sides.put(node, heads);
          });
      return sides;
    }

    private record Side(String fork, String head, int size) {}
  }
}

package io.fermata.flow;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Fixed;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Reached;
import io.fermata.flow.json.Violation;
import io.fermata.flow.route.ConditionCheck;
import io.fermata.flow.route.Joining;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.Route;
import io.fermata.flow.schema.FieldKind;
import io.fermata.flow.schema.StateSchema;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/** Finds everything that is wrong with a flow before it runs. */
final class GraphCheck<S extends Record> {
  private static final Pattern FLOW_ID = Pattern.compile("[a-z0-9_-]{1,64}");
  private static final Pattern NODE_ID = Pattern.compile("[A-Za-z0-9_-]{1,64}");
  private static final Set<String> RESERVED = Set.of(Flow.START, Flow.END, "end");

  /** A value of the kind that the engine writes, and a type that can hold it. */
  private record Sample(JsonNode value, String needed) {}

  private static final Sample FAILURES =
      new Sample(
          Json.tree(
              List.of(
                  Map.of("branch", "b", "code", ErrorCode.STEP_FAILED.wireName(), "message", "m"))),
          "a list of maps, or of a record with branch, code and message");

  private static final Sample NO_RESULTS = new Sample(Json.tree(List.of()), "a list");

  private final Flow<S> flow;
  private final Map<String, List<String>> sources;
  private final List<String> defects = new ArrayList<>();

  GraphCheck(Flow<S> flow) {
    this.flow = flow;
    this.sources = sources(flow);
  }

  List<String> defects() {
    header();
    flow.nodes().values().forEach(this::node);
    flow.routes().forEach(this::route);
    waits();
    compensations();
    branches();
    names();
    waysOut();
    reachability();
    endlessLoops();
    return defects;
  }

  /** Why a flow cannot have this id; nothing if it can. */
  static List<String> misnamed(String id) {
    return FLOW_ID.matcher(id).matches()
        ? List.of()
        : List.of(
            "The flow's id \"%s\" is not 1 to 64 of a-z, 0-9, _ and -; it becomes the name of a tool"
                .formatted(id));
  }

  private void header() {
    defects.addAll(misnamed(flow.id()));
    if (flow.title().isBlank()) {
      defects.add("The flow's title is empty; name it for people, or leave it out");
    }
    if (flow.description().isBlank()) {
      defects.add("The flow has no description; a model needs one to know when to use it");
    }
    if (flow.version() < 1) {
      defects.add("The flow's version is " + flow.version() + "; count from 1");
    }
    if (flow.expiry() != null) {
      passes("expireAfter is", flow.expiry());
    }
  }

  private void passes(String what, Duration time) {
    defects.addAll(Limits.passing(what, time));
  }

  private void ends(String what, Duration time) {
    defects.addAll(Limits.bounded(what, time));
  }

  private void node(Node<S> node) {
    if (RESERVED.contains(node.id())) {
      defects.add("Node " + node.id() + " has a reserved name; choose another");
    } else if (!NODE_ID.matcher(node.id()).matches()) {
      defects.add("Node \"" + node.id() + "\" is not named with 1 to 64 letters, digits, _ and -");
    }
    node.fields().forEach(field -> askedField(node, field));
    if (node instanceof Node.Ask<S> ask) {
      ask(ask);
    } else if (node instanceof Node.Show<S> show && !NODE_ID.matcher(show.tool()).matches()) {
      defects.add(
          "Node %s names the display tool \"%s\", which is no tool name"
              .formatted(node.id(), show.tool()));
    } else if (node instanceof Node.Show<S> show && show.check() != null && show.field() == null) {
      defects.add("Node " + node.id() + " validates a choice, but has no field for it; add one");
    } else if (node instanceof Node.Act<S> act) {
      policy("Node " + node.id(), act.policy());
      act.reads().forEach(field -> ownField("Node " + node.id() + " reads", field));
    } else if (node instanceof Node.Compute<S> compute) {
      if (compute.field() != null && !flow.schema().writable(compute.field())) {
        unknownField("Node " + node.id() + " computes", compute.field());
      }
    } else if (node instanceof Node.Sleep<S> sleep) {
      if (sleep.time() instanceof Fixed<S, Duration> fixed) {
        ends("Node " + node.id() + " sleeps for", fixed.value());
      }
    } else if (node instanceof Node.Await<S> await) {
      if (await.signal().isBlank()) {
        defects.add("Node " + node.id() + " waits for a signal without a name; name it");
      }
      if (await.field() != null) {
        ownField("Node " + node.id() + " puts its signal into", await.field());
      }
    } else if (node instanceof Node.Mount<S, ?> mount) {
      if (mount.into() != null) {
        ownField("Node " + node.id() + " puts its result into", mount.into());
        returns(mount, mount.into());
      }
    } else if (node instanceof Node.Each<S, ?> each) {
      if (each.into() != null) {
        ownField("Node " + node.id() + " puts its results into", each.into());
        holds("Node " + node.id() + " puts its results into", each.into(), NO_RESULTS);
        returns(each, each.into());
      }
      joining("the list of " + node.id(), each.joining(), each.atMost());
    }
  }

  private void ownField(String what, String path) {
    if (flow.schema().ownField(path) == null) {
      unknownField(what, path);
    }
  }

  private void unknownField(String what, String path) {
    defects.add(
        "%s %s, which the state does not have; %s"
            .formatted(what, path, Nearest.next(path, flow.schema().paths(), "its fields are ")));
  }

  private void returns(Node.Nested<S> nested, String into) {
    if (nested.flow().result() == null) {
      defects.add(
          "Node %s puts into %s what its flow %s returns, which is nothing; declare result(…) in that flow"
              .formatted(nested.id(), into, nested.flow().id()));
    }
  }

  /** A field of the state must be able to hold what the engine puts there. */
  private void holds(String what, String path, Sample sample) {
    StateSchema.Field field = flow.schema().ownField(path);
    if (field == null) {
      return;
    }
    boolean held;
    try {
      held = Json.same(Json.tree(Json.read(sample.value(), field.type())), sample.value());
    } catch (JsonProcessingException | IllegalArgumentException e) {
      held = false;
    }
    if (!held) {
      defects.add(
          "%s %s, which is a %s and cannot hold it; make it %s"
              .formatted(
                  what,
                  path,
                  field.type().toCanonical().replaceAll("[a-z]+\\.", ""),
                  sample.needed()));
    }
  }

  private void joining(String what, Joining joining, int branches) {
    if (joining.needed() > branches) {
      defects.add(
          "The join of %s waits for %s of %s branches; wait for all of them at most"
              .formatted(what, joining.needed(), branches));
    }
    if (joining.into() != null) {
      ownField("The join of " + what + " lists failures in", joining.into());
      holds("The join of " + what + " lists failures in", joining.into(), FAILURES);
    }
  }

  private void waits() {
    flow.waits().forEach(this::waiting);
  }

  private void waiting(String id, Node.Waiting<S> waiting) {
    Node<S> node = flow.nodes().get(id);
    boolean waits =
        node instanceof Node.Ask || node instanceof Node.Show || node instanceof Node.Await;
    if (node == null) {
      defects.add(
          "There is a deadline or a reminder for %s, but no such node%s"
              .formatted(id, Nearest.suggestion(id, flow.nodes().keySet())));
    } else if (!waits) {
      defects.add("Node " + id + " waits for nobody, so it needs no deadline and no reminder");
    }
    String late = waiting.target();
    if (late != null && late.isEmpty()) {
      defects.add("The deadline of " + id + " leads nowhere; name the node it leads to");
    } else if (late != null) {
      target(id, late);
    }
    if (waiting.deadline() instanceof Fixed<S, Duration> fixed) {
      passes("The deadline of " + id + " is after", fixed.value());
    }
    Duration every = waiting.every();
    if (every != null && (every.isZero() || every.isNegative() || waiting.reminders() < 1)) {
      defects.add("The reminders of " + id + " need a time that can pass and at least one time");
    } else if (every != null) {
      ends("The reminders of " + id + " are every", every);
      if (waiting.deadline() instanceof Fixed<S, Duration> fixed
          && fixed.value().compareTo(every) < 0) {
        defects.add(
            "The deadline of %s is after %s, before its first reminder after %s; remind sooner"
                .formatted(id, fixed.value(), every));
      }
    }
  }

  private void compensations() {
    flow.compensations()
        .forEach(
            (id, compensation) -> {
              if (id.equals(Flow.START)) {
                expiryHook(compensation);
                return;
              }
              if (!(flow.nodes().get(id) instanceof Node.Act)) {
                defects.add(
                    "There is a compensation for %s, which is no action; %s"
                        .formatted(id, Nearest.next(id, actions(), "the actions are ")));
              }
              policy("The compensation of " + id, compensation.policy());
            });
    flow.reducers().forEach(this::reducer);
  }

  private List<String> actions() {
    return flow.nodes().values().stream()
        .filter(node -> node instanceof Node.Act)
        .map(Node::id)
        .toList();
  }

  private void reducer(String path, Reducer reducer) {
    StateSchema.Field field = flow.schema().ownField(path);
    if (field == null) {
      unknownField("There is a reducer for", path);
    } else if (!reducer.reduces(FieldKind.of(field.type()))) {
      defects.add(
          "The reducer for %s does not reduce %s; use Reducer.of(…), or another that does"
              .formatted(path, FieldKind.words(field.type())));
    }
  }

  private void expiryHook(Node.Compensation<S> hook) {
    if (flow.expiry() == null) {
      defects.add("There is a hook for the run's expiry, and neverExpire(); remove one of them");
    }
    policy("The hook for the run's expiry", hook.policy());
  }

  /** The fields of a sub-flow begin with the name of its node. */
  private void names() {
    for (Node<S> node : flow.nodes().values()) {
      if (node instanceof Node.Nested && flow.schema().ownField(node.id()) != null) {
        defects.add(
            ("Node %s has the name of a field, so the fields of its flow would be ambiguous; rename"
                    + " one of the two")
                .formatted(node.id()));
      }
    }
  }

  // --- branches -------------------------------------------------------------------------------

  private void branches() {
    flow.routes()
        .forEach(
            (from, route) -> {
              if (route instanceof Route.Fork fork) {
                fork(from, fork);
              }
            });
  }

  private void fork(String from, Route.Fork fork) {
    joining("the fork after " + from, fork.joining(), fork.heads().size());
    Map<String, String> branchOf = new LinkedHashMap<>();
    Map<String, String> askedIn = new LinkedHashMap<>();
    Graph.Regions regions = new Graph.Regions(flow);
    for (String head : fork.heads()) {
      String branch = "Branch " + head + " of the fork after " + from;
      if (head.equals(fork.join())) {
        defects.add(branch + " is the join itself; give it a node, or leave it out");
        continue;
      }
      Set<String> region = regions.branch(head, fork);
      boolean joins = flow.nodes().containsKey(fork.join()) || fork.join().equals(Flow.END);
      if (region.remove(Flow.END) && joins) {
        defects.add(
            branch + " leads to END past the join " + fork.join() + "; lead it to the join");
      }
      if (region.contains(from)) {
        defects.add(
            "%s leads back to %s; lead it to the join, and decide there to go back"
                .formatted(branch, from));
      }
      if (joins) {
        arrives(branch, head, fork);
      }
      for (String node : region) {
        String other = branchOf.putIfAbsent(node, head);
        if (other != null && !node.equals(from)) {
          defects.add(
              branch + " shares node " + node + " with branch " + other + "; give each its own");
        }
        fields(node).forEach(field -> askedOnce(branch, head, field, askedIn));
      }
      region.remove(from);
      outsiders(branch, region, from);
    }
  }

  private void arrives(String branch, String head, Route.Fork fork) {
    if (!Reached.from(Set.of(head), flow::targets).contains(fork.join())) {
      String join = fork.join().equals(Flow.END) ? "END" : fork.join();
      defects.add(branch + " never reaches the join " + join + "; lead it there");
    }
  }

  private List<String> fields(String id) {
    Node<S> node = flow.nodes().get(id);
    return node == null ? List.of() : node.fields();
  }

  private void askedOnce(String branch, String head, String field, Map<String, String> askedIn) {
    for (Map.Entry<String, String> asked : askedIn.entrySet()) {
      if (!asked.getValue().equals(head) && Paths.related(asked.getKey(), field)) {
        defects.add(
            "%s asks for %s, and so does branch %s; ask before the fork, or in one of them"
                .formatted(branch, field, asked.getValue()));
      }
    }
    askedIn.putIfAbsent(field, head);
  }

  private void outsiders(String branch, Set<String> region, String from) {
    for (String into : region) {
      for (String node : sources.getOrDefault(into, List.of())) {
        if (!region.contains(node) && !node.equals(from)) {
          defects.add(
              branch + " is entered at " + into + " from " + node + "; enter it at the fork");
        }
      }
    }
  }

  private void ask(Node.Ask<S> ask) {
    if (ask.questions().isEmpty()) {
      defects.add("Node " + ask.id() + " asks no question; add one, or remove the node");
    }
    if (ask.questions().size() > Limits.QUESTIONS) {
      defects.add(
          "Node " + ask.id() + " asks more than " + Limits.QUESTIONS + " questions; split it");
    }
    Set<String> seen = new HashSet<>();
    for (Node.Question<S> question : ask.questions()) {
      if (seen.stream().anyMatch(other -> Paths.related(other, question.field()))) {
        defects.add(
            "Node %s asks twice for %s; ask once for each field"
                .formatted(ask.id(), question.field()));
      }
      seen.add(question.field());
      if (question.text() instanceof Fixed<S, String> fixed && fixed.value().isBlank()) {
        defects.add(
            "Node %s asks for %s without words; give the question a text"
                .formatted(ask.id(), question.field()));
      }
      byDefault(ask, question);
      suggested(ask, question);
      if (question.check() instanceof Node.Async async) {
        policy("The validator of " + question.field() + " in " + ask.id(), async.policy());
      }
    }
  }

  /** A default must be what an answer could be, as nobody checks it later. */
  private void byDefault(Node.Ask<S> ask, Node.Question<S> question) {
    JsonNode value = question.byDefault();
    String field = question.field();
    StateSchema.Field known = flow.schema().ownField(field);
    if (value == null || known == null || known.computed()) {
      return;
    }
    String what = "The default of " + field + " in " + ask.id();
    if (!Paths.filled(value)) {
      defects.add(what + " is empty; use optional() for a field that may stay empty");
      return;
    } else if (flow.schema().secrets().stream().anyMatch(s -> Paths.related(s, field))) {
      defects.add(what + " would be known to everybody, and the field is secret; remove one");
      return;
    }
    if (fits(what, field, value) && question.check() instanceof Node.Quick quick) {
      validated(what, field, value, quick);
    }
  }

  /** A suggestion must be an answer; of a date or a truth value it may be in other words. */
  private void suggested(Node.Ask<S> ask, Node.Question<S> question) {
    StateSchema.Field known = flow.schema().ownField(question.field());
    if (known == null
        || known.computed()
        || !(question.suggestions() instanceof Fixed<S, List<String>> fixed)) {
      return;
    }
    FieldKind kind = FieldKind.of(known.type());
    if (kind == FieldKind.NUMBER || kind == FieldKind.TEXT || kind == FieldKind.CHOICE) {
      String what = "The suggestion for " + question.field() + " in " + ask.id();
      for (String text : fixed.value()) {
        fits(what, question.field(), meant(question.field(), kind, text));
      }
    }
  }

  /** What a suggestion stands for: itself, or the number or constant that it writes. */
  private JsonNode meant(String field, FieldKind kind, String text) {
    JsonNode itself = Json.tree(text);
    return kind == FieldKind.TEXT || unfit(field, itself).isEmpty() ? itself : parsed(text);
  }

  private static JsonNode parsed(String text) {
    try {
      return Json.parse(text);
    } catch (IllegalArgumentException e) {
      return Json.tree(text);
    }
  }

  private List<Violation> unfit(String field, JsonNode value) {
    return flow.schema().check(Paths.set(Json.object(), field, value), Limits.DEFAULT).violations();
  }

  private boolean fits(String what, String field, JsonNode value) {
    List<Violation> unfit = unfit(field, value);
    if (!unfit.isEmpty()) {
      String why = String.join("; ", unfit.stream().map(Violation::message).toList());
      defects.add(what + ", " + Json.text(value) + ", does not fit the field: it " + why);
    }
    return unfit.isEmpty();
  }

  private void validated(String what, String field, JsonNode value, Node.Quick quick) {
    try {
      Object typed = Objects.requireNonNull(flow.schema().value(field, value));
      Verdict verdict = quick.validator().check(typed);
      if (verdict instanceof Verdict.Rejected rejected) {
        defects.add(what + " is refused by its validator: " + rejected.message());
      } else if (verdict instanceof Verdict.Accepted accepted
          && accepted.normalised() != null
          && !Json.same(Json.tree(accepted.normalised()), value)) {
        String normal = Json.text(Json.tree(accepted.normalised()));
        defects.add(what + " is not in the form of its validator; write " + normal);
      }
    } catch (Exception e) {
      defects.add(what + " cannot be checked, as its validator threw " + e);
    }
  }

  private void askedField(Node<S> node, String path) {
    StateSchema.Field field = flow.schema().ownField(path);
    if (field == null) {
      unknownField("Node " + node.id() + " asks for", path);
    } else if (field.computed()) {
      defects.add(
          "Node %s asks for %s, which is computed; ask for another field, or remove @Computed"
              .formatted(node.id(), path));
    }
  }

  private void policy(String what, Policy policy) {
    passes(what + " has the timeout", policy.timeout());
    ends(what + " is tried again after", policy.retry().longest());
    if (policy.once() && policy.retry().attempts() > 1) {
      defects.add(what + " is both once and retried; choose one");
    }
    if (policy.once() && policy.idempotent()) {
      defects.add(what + " is both once and idempotent; choose one");
    }
  }

  private void route(String from, Route route) {
    if (!from.equals(Flow.START) && !flow.nodes().containsKey(from)) {
      defects.add(
          "There is a way out of %s, but no such node%s"
              .formatted(from, Nearest.suggestion(from, flow.nodes().keySet())));
    }
    route.targets().forEach(target -> target(from, target));
    defects.addAll(ConditionCheck.rules(from, route.rules(), flow.schema(), flow.nodes().keySet()));
  }

  private void target(String from, String target) {
    if (target.equals(Flow.START)) {
      defects.add("Node " + from + " leads to START; lead to the first node instead");
    } else if (!target.isEmpty() && !known(target)) {
      defects.add(
          "Node %s leads to %s, but there is no such node%s"
              .formatted(from, target, Nearest.suggestion(target, flow.nodes().keySet())));
    }
  }

  private void waysOut() {
    if (!flow.routes().containsKey(Flow.START)) {
      defects.add("Nothing leads out of START; add an edge from START to the first node");
    }
    for (String node : flow.nodes().keySet()) {
      if (!flow.routes().containsKey(node)) {
        defects.add("Node " + node + " is a dead end; lead it to another node or to END");
      }
    }
  }

  private void reachability() {
    Set<String> reached = Reached.from(Set.of(Flow.START), flow::targets);
    for (String node : flow.nodes().keySet()) {
      if (!reached.contains(node)) {
        defects.add("Node " + node + " can never be reached from START");
      }
    }
    if (!reached.contains(Flow.END)) {
      defects.add("END can never be reached from START; lead some node to it");
    }
  }

  /** A loop needs a pause in it or a way out of it, or it would spin until a limit stops it. */
  private void endlessLoops() {
    Set<String> known = new HashSet<>();
    for (String node : stuck()) {
      Set<String> loop = known.contains(node) ? Set.of() : loopOf(node);
      if (loop.isEmpty()) {
        continue;
      }
      known.addAll(loop);
      boolean pauses = loop.stream().map(flow.nodes()::get).anyMatch(n -> n != null && n.pauses());
      boolean leaves =
          loop.stream().flatMap(n -> flow.targets(n).stream()).anyMatch(t -> !loop.contains(t));
      if (!pauses && !leaves) {
        defects.add(
            "The loop %s can neither pause nor end; lead out of it, or ask somebody in it"
                .formatted(String.join(" → ", loop)));
      }
    }
  }

  /** The nodes from which the run reaches neither a pause nor a way out. */
  private List<String> stuck() {
    List<String> goals = new ArrayList<>(List.of(Flow.END));
    flow.nodes()
        .forEach(
            (id, node) -> {
              if (node.pauses() || !flow.nodes().keySet().containsAll(flow.targets(id))) {
                goals.add(id);
              }
            });
    Set<String> freed = Reached.from(goals, at -> sources.getOrDefault(at, List.of()));
    return flow.nodes().keySet().stream().filter(node -> !freed.contains(node)).toList();
  }

  /** The nodes that are reached from this one and lead back to it; empty if none does. */
  private Set<String> loopOf(String node) {
    Set<String> ahead = Reached.from(flow.targets(node), flow::targets);
    if (!ahead.contains(node)) {
      return Set.of();
    }
    Set<String> loop = new LinkedHashSet<>(List.of(node));
    ahead.retainAll(Reached.from(Set.of(node), at -> sources.getOrDefault(at, List.of())));
    loop.addAll(ahead);
    return loop;
  }

  /** Which nodes lead to each node. */
  private static Map<String, List<String>> sources(Flow<?> flow) {
    Map<String, List<String>> sources = new HashMap<>();
    Set<String> all = new LinkedHashSet<>(flow.routes().keySet());
    all.addAll(flow.nodes().keySet());
    for (String node : all) {
      flow.targets(node)
          .forEach(target -> sources.computeIfAbsent(target, t -> new ArrayList<>()).add(node));
    }
    return sources;
  }

  private boolean known(String target) {
    return target.equals(Flow.END) || flow.nodes().containsKey(target);
  }
}

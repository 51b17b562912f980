package io.fermata.flow;

import io.fermata.flow.action.Action;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.json.Fixed;
import io.fermata.flow.json.Given;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Decision;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.Route;
import io.fermata.flow.schema.Secret;
import io.fermata.flow.schema.StateSchema;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A flow being written. What is wrong with its graph is refused by {@link #compile}, which then
 * names it all. Refused at once are options that may be left out and are given as null, and numbers
 * and times of retries and quorums that mean nothing.
 */
public final class FlowBuilder<S extends Record> {
  private final String id;
  private final Class<S> state;
  private final Map<String, Node<S>> nodes = new LinkedHashMap<>();
  private final Map<String, Route> routes = new LinkedHashMap<>();
  private final Map<String, Node.Waiting<S>> waits = new LinkedHashMap<>();
  private final Map<String, Node.Compensation<S>> compensations = new LinkedHashMap<>();
  private final Map<String, Reducer> reducers = new LinkedHashMap<>();
  private final Set<String> secrets = new LinkedHashSet<>();
  private final List<Recorder> recorders = new ArrayList<>();
  private final Map<Integer, Migration> migrations = new LinkedHashMap<>();
  private final List<String> defects = new ArrayList<>();
  private String title;
  private String description = "";
  private int version = 1;
  private @Nullable Function<S, ?> result;
  private @Nullable Duration expiry = Flow.IDLE;
  private boolean endsOnFailure;
  private TaskUse tasks = TaskUse.WHEN_LATE;
  private boolean forms;
  private boolean internal;
  private ToolHints hints = ToolHints.CHANGES;

  FlowBuilder(String id, Class<S> state) {
    this.id = id;
    this.state = state;
    this.title = id;
  }

  public FlowBuilder<S> title(String text) {
    title = text;
    return this;
  }

  /** When a model should use this flow, in the author's words. */
  public FlowBuilder<S> description(String text) {
    description = text;
    return this;
  }

  /** What clients may assume of the tool; by default only that it changes something. */
  public FlowBuilder<S> hints(ToolHints ofTool) {
    hints = ofTool;
    return this;
  }

  /** A new number for every change of the graph; runs stay on the version they began on. */
  public FlowBuilder<S> version(int number) {
    version = number;
    return this;
  }

  /**
   * A run that nobody has touched for this long has expired: it ends at that time by itself, and
   * what it did is undone. While it works or sleeps, and before a deadline that it waits until, it
   * does not expire. Without this it is {@link Flow#IDLE}. At most 365,000 days.
   */
  public FlowBuilder<S> expireAfter(Duration idle) {
    expiry = Objects.requireNonNull(idle, "idle");
    return this;
  }

  /** Lets its runs wait for ever. */
  public FlowBuilder<S> neverExpire() {
    expiry = null;
    return this;
  }

  /**
   * What is done when a run expires, once what it did has been undone. It is an action as any
   * other; what it writes is not kept.
   */
  public FlowBuilder<S> onExpire(Action<S> hook) {
    return onExpire(hook, options -> {});
  }

  public FlowBuilder<S> onExpire(Action<S> hook, Consumer<EffectOptions> options) {
    EffectOptions chosen = new EffectOptions();
    options.accept(chosen);
    Node.Compensation<S> last = new Node.Compensation<>(new Node.Staged<>(hook), chosen.policy());
    if (compensations.put(Flow.START, last) != null) {
      defects.add("The flow has two hooks for its expiry; keep one");
    }
    return this;
  }

  /**
   * A step that fails for good ends the run: what it did is undone, as {@link #compensate} says,
   * and the run has failed. Without this it halts there until somebody retries the step.
   */
  public FlowBuilder<S> endOnFailure() {
    endsOnFailure = true;
    return this;
  }

  /**
   * Lets clients that can show forms put its questions to their users themselves, past the model.
   * Where a question is beyond a form, or secret, or its client has no forms, the model asks as
   * ever.
   */
  public FlowBuilder<S> forms() {
    forms = true;
    return this;
  }

  /** Programs and schedules start its runs; no client is offered it. */
  public FlowBuilder<S> internal() {
    internal = true;
    return this;
  }

  /**
   * Its work takes longer than a caller likes to wait: callers who take tasks are given one as soon
   * as a run has work to do, and others wait. Without this they are given one where a call would
   * otherwise get the reply that the work continues.
   */
  public FlowBuilder<S> longRunning() {
    tasks = TaskUse.WHEN_IT_WORKS;
    return this;
  }

  /** As {@link #longRunning}, but callers who take no tasks are refused. */
  public FlowBuilder<S> onlyAsTask() {
    tasks = TaskUse.ALWAYS;
    return this;
  }

  /** Asks one or several questions and waits for the answers. */
  public FlowBuilder<S> ask(String node, Consumer<Questions<S>> questions) {
    Questions<S> asked = new Questions<>();
    questions.accept(asked);
    asked
        .checkedTwice()
        .forEach(field -> checkedTwice("The question for " + field + " in node " + node));
    return add(asked.build(node));
  }

  /** Shows a widget through a display tool. */
  public FlowBuilder<S> widget(String node, Consumer<WidgetOptions<S>> options) {
    WidgetOptions<S> widget = new WidgetOptions<>(node);
    options.accept(widget);
    if (widget.isCheckedTwice()) {
      checkedTwice("Node " + node);
    }
    return add(widget.build());
  }

  /** Acts, or computes, without a round trip to the model. */
  public FlowBuilder<S> act(String node, Action<S> action) {
    return act(node, action, options -> {});
  }

  public FlowBuilder<S> act(String node, Action<S> action, Consumer<EffectOptions> options) {
    return actAsync(node, new Node.Staged<>(action), options);
  }

  /** Acts with a stage, so that no thread waits meanwhile. */
  public FlowBuilder<S> actAsync(String node, AsyncAction<S> action) {
    return actAsync(node, action, options -> {});
  }

  public FlowBuilder<S> actAsync(
      String node, AsyncAction<S> action, Consumer<EffectOptions> options) {
    EffectOptions chosen = new EffectOptions();
    options.accept(chosen);
    return add(new Node.Act<>(node, action, chosen.policy(), chosen.reads()));
  }

  /**
   * Computes fields from the state, and does nothing else: no input, no output, no waiting. It runs
   * within the step, as a decision does, so it costs no effect and no write of the journal of its
   * own; its result is journaled, and a replay does not call it. If it throws, nothing is written
   * and the run stops here until somebody tries the step again.
   *
   * @param values the new values of fields, by name; null takes a value away
   */
  public FlowBuilder<S> computes(
      String node, Function<S, ? extends Map<String, ? extends @Nullable Object>> values) {
    return add(new Node.Compute<>(node, values));
  }

  /** Computes one field from the state, as {@link #computes(String, Function)} does. */
  public FlowBuilder<S> computes(String node, String field, Function<S, ?> value) {
    return add(new Node.Compute<>(node, new Node.OneField<>(field, value)));
  }

  /** Waits for a while. The run sleeps meanwhile, through restarts, and needs no memory. */
  public FlowBuilder<S> sleep(String node, Duration time) {
    return sleep(node, new Fixed<>(time));
  }

  public FlowBuilder<S> sleep(String node, Function<S, Duration> time) {
    return add(new Node.Sleep<>(node, new Node.After<>(time)));
  }

  /** Waits for a moment; one that has passed is not waited for. */
  public FlowBuilder<S> sleepUntil(String node, Function<S, Instant> moment) {
    return add(new Node.Sleep<>(node, new Node.Moment<>(moment)));
  }

  /** Waits for a signal from outside. One that came early is taken at once. */
  public FlowBuilder<S> waitFor(String node, String signal) {
    return add(new Node.Await<>(node, signal, null));
  }

  /** Waits for a signal whose payload goes to a field. */
  public FlowBuilder<S> waitFor(String node, String signal, String field) {
    return add(new Node.Await<>(node, signal, Objects.requireNonNull(field, "field")));
  }

  /** Continues at another node when a node has waited for so long. */
  public FlowBuilder<S> deadline(String node, Duration time, String target) {
    return deadline(node, new Fixed<>(time), target);
  }

  public FlowBuilder<S> deadline(String node, Function<S, Duration> time, String target) {
    Node.Waiting<S> w = waits.getOrDefault(node, Node.Waiting.none());
    if (w.deadline() != null) {
      defects.add("Node " + node + " has two deadlines; keep one");
    }
    Objects.requireNonNull(time, "time");
    Objects.requireNonNull(target, "target");
    waits.put(node, new Node.Waiting<>(time, target, w.every(), w.reminders(), w.reminder()));
    return this;
  }

  /**
   * Reminds somebody while a node waits.
   *
   * @param every the time between two reminders, and before the first
   * @param times how many there are
   * @param reminder what reminds; what it writes is not kept, and if it fails the next one is tried
   */
  public FlowBuilder<S> remind(String node, Duration every, int times, Action<S> reminder) {
    Node.Waiting<S> w = waits.getOrDefault(node, Node.Waiting.none());
    if (w.every() != null) {
      defects.add("Node " + node + " has two reminders; keep one");
    }
    Objects.requireNonNull(every, "every");
    AsyncAction<S> staged = new Node.Staged<>(reminder);
    waits.put(node, new Node.Waiting<>(w.deadline(), w.target(), every, times, staged));
    return this;
  }

  /** How an action is undone when the run is cancelled, fails, or goes back over it. */
  public FlowBuilder<S> compensate(String node, Action<S> undo) {
    return compensate(node, undo, options -> {});
  }

  public FlowBuilder<S> compensate(String node, Action<S> undo, Consumer<EffectOptions> options) {
    return compensateAsync(node, new Node.Staged<>(undo), options);
  }

  /** Undoes an action with a stage, so that no thread waits meanwhile. */
  public FlowBuilder<S> compensateAsync(String node, AsyncAction<S> undo) {
    return compensateAsync(node, undo, options -> {});
  }

  public FlowBuilder<S> compensateAsync(
      String node, AsyncAction<S> undo, Consumer<EffectOptions> options) {
    EffectOptions chosen = new EffectOptions();
    options.accept(chosen);
    if (compensations.put(node, new Node.Compensation<>(undo, chosen.policy())) != null) {
      defects.add("Node " + node + " has two compensations; keep one");
    }
    return this;
  }

  /** Runs a flow as a node of this one. Its fields are asked for as {@code node.field}. */
  public <T extends Record> FlowBuilder<S> subflow(
      String node, Flow<T> flow, Consumer<Mount<S, T>> options) {
    Mount<S, T> mount = new Mount<>();
    options.accept(mount);
    return add(mount.build(node, flow));
  }

  /**
   * Runs a flow for each item of a list, side by side. Its fields are asked for as {@code
   * node.0.field}, {@code node.1.field} and so on.
   */
  public <T extends Record, I> FlowBuilder<S> forEach(
      String node, Flow<T> flow, Consumer<ForEach<S, I>> options) {
    ForEach<S, I> each = new ForEach<>();
    options.accept(each);
    if (!each.complete()) {
      defects.add("The list of " + node + " needs items and a bound; call items(…) and atMost(…)");
    }
    return add(each.build(node, flow));
  }

  /** Continues in several branches at once. */
  public FlowBuilder<S> fork(String from, Consumer<Branches> branches) {
    Branches chosen = new Branches();
    branches.accept(chosen);
    chosen.defects().forEach(wrong -> defects.add("The fork after " + from + " " + wrong));
    return route(from, chosen.build());
  }

  /** Continues in all the branches whose rules match. */
  public FlowBuilder<S> select(String from, Consumer<Branches> branches) {
    return fork(from, branches);
  }

  /**
   * What becomes of a field that branches changed.
   *
   * @param reducer is given the value before the fork and the values of those that joined and hold
   *     another, one or more; a field that none of them changed stays as it was
   */
  public FlowBuilder<S> reduce(String field, Reducer reducer) {
    if (reducers.put(field, reducer) != null) {
      defects.add("Field " + field + " has two reducers; keep one");
    }
    return this;
  }

  /** Goes from a node, or from {@link Flow#START}, to a node or to {@link Flow#END}. */
  public FlowBuilder<S> edge(String from, String to) {
    return route(from, new Route.Edge(to));
  }

  /** Chooses the way out of a node, or out of {@link Flow#START}. */
  public FlowBuilder<S> decide(String from, Consumer<Decision> rules) {
    Decision decision = new Decision();
    rules.accept(decision);
    decision.defects().forEach(wrong -> defects.add("The decision after " + from + " " + wrong));
    return route(from, decision.build());
  }

  /** What a completed run returns; without this it returns nothing but its status. */
  public FlowBuilder<S> result(Function<S, ?> mapper) {
    result = Objects.requireNonNull(mapper, "mapper");
    return this;
  }

  /** Marks fields of the state as {@link Secret} that cannot carry the mark themselves. */
  public FlowBuilder<S> secret(String... fields) {
    secrets.addAll(Given.listed(fields));
    return this;
  }

  /** Has its runs watched. In a flow that is mounted by another, what happens under the mount. */
  public FlowBuilder<S> recorder(Recorder recorder) {
    recorders.add(recorder);
    return this;
  }

  /**
   * Takes over runs of an earlier version that is not registered any more. A migration leads to the
   * next version that there is one for, the last one to this: keep those of the version before, and
   * add one from it.
   *
   * @param from the version that the runs are on
   */
  public FlowBuilder<S> migrate(int from, Consumer<Migration> changes) {
    Migration migration = new Migration();
    changes.accept(migration);
    if (migrations.put(from, migration) != null) {
      defects.add("There are two migrations from version " + from + "; keep one");
    }
    return this;
  }

  /**
   * Checks everything and makes the flow.
   *
   * @throws InvalidFlowException naming every defect at once
   */
  public Flow<S> compile() {
    List<String> nulls = nulls();
    if (!nulls.isEmpty()) {
      nulls.addAll(defects);
      throw new InvalidFlowException(id, nulls);
    }
    StateSchema<S> schema = new StateSchema<>(state, mounts(), secrets);
    Flow<S> flow =
        new Flow<>(
            header(),
            schema,
            nodes,
            routes,
            waits,
            compensations,
            reducers,
            result,
            recorders,
            migrations);
    List<String> all = new ArrayList<>(defects);
    all.addAll(schema.defects());
    all.addAll(new GraphCheck<>(flow).defects());
    if (all.isEmpty()) {
      all.addAll(new MigrationPath(flow).defects());
    }
    if (!all.isEmpty()) {
      throw new InvalidFlowException(id, all);
    }
    return flow;
  }

  private Flow.Header header() {
    return new Flow.Header(
        id, title, description, version, expiry, endsOnFailure, tasks, forms, internal, hints);
  }

  /** What was given as null; no other check expects it. */
  private List<String> nulls() {
    List<String> nulls = new ArrayList<>(Given.nulls("The flow", header()));
    nulls.addAll(Given.nulls("The state of the flow", state));
    secrets.forEach(given -> nulls.addAll(Given.nulls("A secret field of the flow", given)));
    recorders.forEach(given -> nulls.addAll(Given.nulls("A recorder of the flow", given)));
    nodes.forEach((node, given) -> nulls.addAll(Given.nulls("Node " + node, given)));
    nulls("The way out of", routes, nulls);
    nulls("What waits at", waits, nulls);
    Map<String, Node.Compensation<S>> undoing = new LinkedHashMap<>(compensations);
    Node.Compensation<S> hook = undoing.remove(Flow.START);
    if (hook != null) {
      nulls.addAll(Given.nulls("The hook for the run's expiry", hook));
    }
    nulls("The compensation of", undoing, nulls);
    nulls("The reducer of", reducers, nulls);
    return nulls;
  }

  private static void nulls(String what, Map<String, ?> named, List<String> nulls) {
    named.forEach(
        (name, given) -> {
          nulls.addAll(Given.nulls(what + " null: its name", name));
          nulls.addAll(Given.nulls(what + " " + name, given));
        });
  }

  private Map<String, StateSchema.Inner> mounts() {
    Map<String, StateSchema.Inner> mounts = new LinkedHashMap<>();
    for (Node<S> node : nodes.values()) {
      if (node instanceof Node.Nested<S> nested) {
        boolean each = node instanceof Node.Each;
        mounts.put(node.id(), new StateSchema.Inner(nested.flow().schema(), each));
      }
    }
    return mounts;
  }

  private void checkedTwice(String what) {
    defects.add(what + " has two validators; check everything in one");
  }

  private FlowBuilder<S> add(Node<S> node) {
    if (nodes.putIfAbsent(node.id(), node) != null) {
      defects.add("Node " + node.id() + " is declared twice; give one of them another name");
    }
    return this;
  }

  private FlowBuilder<S> route(String from, Route route) {
    if (routes.putIfAbsent(from, route) != null) {
      defects.add("Node " + from + " has two ways out; use one edge, or one decision between them");
    }
    return this;
  }
}

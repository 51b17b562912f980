package io.fermata.flow;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A flow being written. Nothing is refused before {@link #compile}, which then names it all. */
public final class FlowBuilder<S extends Record> {
  private final String id;
  private final Class<S> state;
  private final Map<String, Node<S>> nodes = new LinkedHashMap<>();
  private final Map<String, Route<S>> routes = new LinkedHashMap<>();
  private final List<String> defects = new ArrayList<>();
  private String title;
  private String description = "";
  private int version = 1;
  private @Nullable Function<S, ?> result;
  private @Nullable Duration expiry;

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

  /** A new number for every change of the graph; runs stay on the version they began on. */
  public FlowBuilder<S> version(int number) {
    version = number;
    return this;
  }

  /** A run that nobody has touched for this long has expired. Without this it waits forever. */
  public FlowBuilder<S> expireAfter(Duration idle) {
    expiry = idle;
    return this;
  }

  /** Asks one or several questions and waits for the answers. */
  public FlowBuilder<S> ask(String node, Consumer<Questions<S>> questions) {
    Questions<S> asked = new Questions<>();
    questions.accept(asked);
    return add(asked.build(node));
  }

  /** Shows a widget through a display tool. */
  public FlowBuilder<S> widget(String node, Consumer<WidgetOptions<S>> options) {
    WidgetOptions<S> widget = new WidgetOptions<>(node);
    options.accept(widget);
    return add(widget.build());
  }

  /** Acts, or computes, without a round trip to the model. */
  public FlowBuilder<S> act(String node, Action<S> action) {
    return act(node, action, options -> {});
  }

  public FlowBuilder<S> act(String node, Action<S> action, Consumer<EffectOptions> options) {
    return actAsync(
        node,
        run -> {
          action.perform(run);
          return CompletableFuture.completedStage(null);
        },
        options);
  }

  /** Acts with a stage, so that no thread waits meanwhile. */
  public FlowBuilder<S> actAsync(String node, AsyncAction<S> action) {
    return actAsync(node, action, options -> {});
  }

  public FlowBuilder<S> actAsync(
      String node, AsyncAction<S> action, Consumer<EffectOptions> options) {
    EffectOptions chosen = new EffectOptions();
    options.accept(chosen);
    return add(new Node.Act<>(node, action, chosen.policy()));
  }

  /** Goes from a node, or from {@link Flow#START}, to a node or to {@link Flow#END}. */
  public FlowBuilder<S> edge(String from, String to) {
    return route(from, new Route.Edge<>(to));
  }

  /** Chooses the way out of a node, or out of {@link Flow#START}. */
  public FlowBuilder<S> decide(String from, Consumer<Decision<S>> rules) {
    Decision<S> decision = new Decision<>();
    rules.accept(decision);
    if (!decision.complete()) {
      defects.add(
          "The decision after "
              + from
              + " needs at least one rule, a target for each, and an otherwise; add what is missing");
    }
    return route(from, decision.build());
  }

  /** What a completed run returns; without this it returns nothing but its status. */
  public FlowBuilder<S> result(Function<S, ?> mapper) {
    result = mapper;
    return this;
  }

  /**
   * Checks everything and makes the flow.
   *
   * @throws InvalidFlowException naming every defect at once
   */
  public Flow<S> compile() {
    StateSchema<S> schema = new StateSchema<>(state);
    Flow<S> flow =
        new Flow<>(
            new Flow.Header(id, title, description, version, expiry),
            schema,
            nodes,
            routes,
            result);
    List<String> all = new ArrayList<>(defects);
    all.addAll(schema.defects());
    all.addAll(new GraphCheck<>(flow).defects());
    if (!all.isEmpty()) {
      throw new InvalidFlowException(id, all);
    }
    return flow;
  }

  private FlowBuilder<S> add(Node<S> node) {
    if (nodes.putIfAbsent(node.id(), node) != null) {
      defects.add("Node " + node.id() + " is declared twice; give one of them another name");
    }
    return this;
  }

  private FlowBuilder<S> route(String from, Route<S> route) {
    if (routes.putIfAbsent(from, route) != null) {
      defects.add("Node " + from + " has two ways out; use one edge, or one decision between them");
    }
    return this;
  }
}

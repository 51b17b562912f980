package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import io.fermata.flow.logging.PlatformLogging;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.Route;
import io.fermata.flow.schema.Secret;
import io.fermata.flow.schema.StateSchema;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A checked, immutable graph of steps that ask, show, decide and act.
 *
 * <pre>{@code
 * record Order(@Describe("What to eat") String dish, @Computed Integer price) {}
 *
 * Flow<Order> order =
 *     Flow.of("order", Order.class)
 *         .title("Order")
 *         .description("Orders a dish.")
 *         .ask("ask_dish", q -> q.question("dish", "What would you like to eat?"))
 *         .act("price", run -> run.set("price", Menu.price(run.state().dish())))
 *         .edge(START, "ask_dish")
 *         .edge("ask_dish", "price")
 *         .edge("price", END)
 *         .result(state -> state)
 *         .compile();
 * }</pre>
 *
 * @param <S> the state: a record whose components are the fields
 */
public final class Flow<S extends Record> {
  static {
    PlatformLogging.installIfMissing();
  }

  /** Where every run begins. */
  public static final String START = Place.START;

  /** Where a run completes. */
  public static final String END = Place.END;

  /**
   * How long a run may wait untouched for somebody before it expires, unless its flow says else or
   * a declared sleep or deadline is still to come.
   */
  public static final Duration IDLE = Duration.ofDays(30);

  private final Header header;
  private final StateSchema<S> schema;
  private final Map<String, Node<S>> nodes;
  private final Map<String, Route> routes;
  private final Map<String, Node.Waiting<S>> waits;
  private final Map<String, Node.Compensation<S>> compensations;
  private final Map<String, Reducer> reducers;
  private final @Nullable Function<S, ?> result;
  private final List<Recorder> recorders;
  private final Map<Integer, Migration> migrations;
  private final String fingerprint;
  private @Nullable Graph graph;

  /** Asked for in each call, and made from all steps. */
  private @Nullable SecretFields secretFields;

  Flow(
      Header header,
      StateSchema<S> schema,
      Map<String, Node<S>> nodes,
      Map<String, Route> routes,
      Map<String, Node.Waiting<S>> waits,
      Map<String, Node.Compensation<S>> compensations,
      Map<String, Reducer> reducers,
      @Nullable Function<S, ?> result,
      List<Recorder> recorders,
      Map<Integer, Migration> migrations) {
    this.header = header;
    this.schema = schema;
    this.nodes = Collections.unmodifiableMap(new LinkedHashMap<>(nodes));
    this.routes = Collections.unmodifiableMap(new LinkedHashMap<>(routes));
    this.waits = Map.copyOf(waits);
    this.compensations = Map.copyOf(compensations);
    this.reducers = Collections.unmodifiableMap(new LinkedHashMap<>(reducers));
    this.result = result;
    this.recorders = List.copyOf(recorders);
    this.migrations = Map.copyOf(migrations);
    this.fingerprint = digest(shape());
  }

  /**
   * The same flow under another name.
   *
   * @throws InvalidFlowException if a flow cannot have it
   */
  public Flow<S> named(String id) {
    List<String> defects = GraphCheck.misnamed(Objects.requireNonNull(id, "id"));
    if (!defects.isEmpty()) {
      throw new InvalidFlowException(id, defects);
    }
    return with(header.named(id));
  }

  /** The same flow, whose runs end where a step fails for good, as if its author had said so. */
  public Flow<S> endingOnFailure() {
    return with(header.endingOnFailure());
  }

  private Flow<S> with(Header other) {
    return new Flow<>(
        other,
        schema,
        nodes,
        routes,
        waits,
        compensations,
        reducers,
        result,
        recorders,
        migrations);
  }

  /** What names and describes a flow. */
  record Header(
      String id,
      String title,
      String description,
      int version,
      @Nullable Duration expiry,
      boolean endsOnFailure,
      TaskUse tasks,
      boolean forms,
      boolean internal,
      ToolHints hints) {

    private Header named(String other) {
      return new Header(
          other, title, description, version, expiry, endsOnFailure, tasks, forms, internal, hints);
    }

    private Header endingOnFailure() {
      return new Header(
          id, title, description, version, expiry, true, tasks, forms, internal, hints);
    }
  }

  /** Begins a flow whose state is the given record. */
  public static <S extends Record> FlowBuilder<S> of(String id, Class<S> state) {
    return new FlowBuilder<>(id, state);
  }

  public String id() {
    return header.id();
  }

  public String title() {
    return header.title();
  }

  public String description() {
    return header.description();
  }

  public int version() {
    return header.version();
  }

  /** What clients may assume of its tool. */
  public ToolHints hints() {
    return header.hints();
  }

  /** When its calls are answered with a task. */
  public TaskUse tasks() {
    return header.tasks();
  }

  /**
   * Changes whenever the graph or its fields do, so that a change without a new version shows, and
   * not with the texts of either.
   */
  public String fingerprint() {
    return fingerprint;
  }

  /** The JSON Schema of what a client may write, all of it optional. */
  public ObjectNode updatesSchema() {
    return schema.updates();
  }

  /** The JSON Schema of one field, as far as a client may write it. */
  public ObjectNode fieldSchema(String path) {
    return schema.fieldSchema(path).deepCopy();
  }

  /**
   * The JSON Schema of what a client may write, for models: the dotted names under which questions
   * and widgets ask stand beside the nested fields, without describing them again. The names of a
   * list's items cannot be listed, and patterns of names are not understood everywhere, so a schema
   * with such items is open; {@link #updatesSchema} is not.
   */
  public ObjectNode answersSchema() {
    ObjectNode answers = updatesSchema();
    withoutPatterns(answers);
    Map<String, ObjectNode> asked = new TreeMap<>();
    Map<String, Set<JsonNode>> defaults = new TreeMap<>();
    for (Step<?> step : graph().steps()) {
      if (step.node() != null) {
        StateSchema<?> own = step.scope().schema();
        String template = step.scope().template();
        step.node().fields().forEach(f -> asked.put(template + f, own.fieldSchema(f)));
        defaults(step.node())
            .forEach(
                (f, value) ->
                    defaults.computeIfAbsent(template + f, p -> new HashSet<>()).add(value));
      }
    }
    defaults.forEach(
        (path, values) -> {
          // Where nodes that ask for the same field differ, the questions say it themselves.
          JsonNode value = values.iterator().next();
          if (values.size() == 1 && !value.isNull()) {
            StateSchema.property(answers, path).ifPresent(field -> field.set("default", value));
            asked.computeIfPresent(path, (p, field) -> field.deepCopy().set("default", value));
          }
        });
    asked.keySet().removeIf(path -> !path.contains("."));
    asked.forEach(
        (path, field) -> {
          if (path.contains("." + Paths.ANY + ".")) {
            answers.remove("additionalProperties");
          } else {
            ObjectNode same = field.deepCopy();
            same.remove("description");
            answers.withObjectProperty("properties").set(path, same);
          }
        });
    return answers;
  }

  /** The default of every field that a node asks for; a null node where it has none. */
  private static Map<String, JsonNode> defaults(Node<?> node) {
    Map<String, JsonNode> defaults = new LinkedHashMap<>();
    node.fields().forEach(field -> defaults.put(field, Json.MAPPER.nullNode()));
    if (node instanceof Node.Ask<?> ask) {
      for (Node.Question<?> question : ask.questions()) {
        JsonNode value = question.byDefault();
        if (value != null) {
          defaults.put(question.field(), value);
        }
      }
    }
    return defaults;
  }

  private static void withoutPatterns(ObjectNode schema) {
    if (schema.remove("patternProperties") instanceof ObjectNode patterns) {
      schema.put("description", "One for each item of the list, by its index: 0, 1, 2");
      patterns.forEach(item -> schema.set("additionalProperties", item));
    }
    schema.forEach(
        part -> {
          if (part instanceof ObjectNode inner) {
            withoutPatterns(inner);
          }
        });
  }

  /**
   * The paths of its fields, and of those of its sub-flows under their mounts; {@code *} stands for
   * an item of a list.
   */
  public Set<String> fieldPaths() {
    Set<String> paths = new TreeSet<>(schema.paths());
    for (Step<?> step : graph().steps()) {
      step.scope().schema().paths().forEach(path -> paths.add(step.scope().template() + path));
    }
    return paths;
  }

  /** Why a path can have no value in the state of a run, and what to do; null if it can. */
  public @Nullable String misnamed(String path) {
    return schema.knows(path)
        ? null
        : "The flow %s has no field %s; %s"
            .formatted(id(), path, Nearest.next(path, fieldPaths(), "its fields are "));
  }

  /** The display tools that its widgets need, and those of its sub-flows. */
  public Set<String> displayTools() {
    Set<String> tools = new TreeSet<>();
    for (Step<?> step : graph().steps()) {
      if (step.node() instanceof Node.Show<?> show) {
        tools.add(show.tool());
      }
    }
    return tools;
  }

  /** The signals that it may wait for, and its sub-flows. */
  public Set<String> signals() {
    Set<String> signals = new TreeSet<>();
    for (Step<?> step : graph().steps()) {
      if (step.node() instanceof Node.Await<?> await) {
        signals.add(await.signal());
      }
    }
    return signals;
  }

  /**
   * The fields that it marks as {@link Secret}, those of its sub-flows, and what the versions that
   * it takes over had in their place.
   */
  public SecretFields secretFields() {
    SecretFields made = secretFields;
    if (made == null) {
      made = new MigrationPath(this).secretFields(graph().secretFields());
      secretFields = made;
    }
    return made;
  }

  /** Its recorders, and those of its sub-flows, which receive what happens there. */
  public List<AttachedRecorder> recorders() {
    return graph().recorders();
  }

  Map<Integer, Migration> migrations() {
    return migrations;
  }

  List<Recorder> ownRecorders() {
    return recorders;
  }

  /**
   * Whether a run that is at one node may end without entering another. Nodes are named by their
   * paths: {@code mount/node}.
   */
  public boolean avoidable(String from, String node) {
    return !graph().has(from)
        || !graph().has(node)
        || new Reachability(graph()).avoidable(from, node);
  }

  /** The names of its nodes, in the order they were declared. */
  public Set<String> nodeIds() {
    return nodes.keySet();
  }

  /** The names of its compensations, as the places of a run have them: {@code reserve~undo}. */
  public Set<String> compensationIds() {
    return compensations.keySet().stream()
        .map(act -> new Place(act, 1).undo().node())
        .collect(Collectors.toUnmodifiableSet());
  }

  /** A state as the author's record; fields without a value are null. */
  public S view(RunState run) {
    return schema.view(run.data());
  }

  /** Its graph, to be drawn as a Mermaid flowchart or as an SVG image. */
  public Picture picture() {
    return GraphShapes.of(this);
  }

  /** Whether clients may show its questions as forms. */
  public boolean forms() {
    return header.forms();
  }

  /** Whether only programs and schedules start its runs. */
  public boolean isInternal() {
    return header.internal();
  }

  public @Nullable Duration expiry() {
    return header.expiry();
  }

  public StateSchema<S> schema() {
    return schema;
  }

  public Map<String, Node<S>> nodes() {
    return nodes;
  }

  Map<String, Route> routes() {
    return routes;
  }

  /** The whole graph, sub-flows included; made when it is first asked for, after all checks. */
  public Graph graph() {
    Graph made = graph;
    if (made == null) {
      made = new Graph(this);
      graph = made;
    }
    return made;
  }

  public Node.Waiting<S> waiting(String node) {
    Node.Waiting<S> waiting = waits.get(node);
    return waiting == null ? Node.Waiting.none() : waiting;
  }

  Map<String, Node.Waiting<S>> waits() {
    return waits;
  }

  public Map<String, Node.Compensation<S>> compensations() {
    return compensations;
  }

  public Map<String, Reducer> reducers() {
    return reducers;
  }

  public boolean endsOnFailure() {
    return header.endsOnFailure();
  }

  public @Nullable Function<S, ?> result() {
    return result;
  }

  @Override
  public String toString() {
    return header.id() + " version " + header.version();
  }

  private String shape() {
    StringBuilder shape = new StringBuilder();
    shape.append(Json.text(withoutDescriptions(schema.updates()))).append('\n');
    shape.append(Json.text(withoutDescriptions(schema.whole()))).append('\n');
    if (!schema.secrets().isEmpty()) {
      shape.append("secret ").append(new TreeSet<>(schema.secrets())).append('\n');
    }
    nodes.forEach(
        (id, node) -> {
          shape.append(node.getClass().getSimpleName()).append(' ').append(id);
          shape.append(' ').append(node.fields()).append(' ').append(particulars(node));
          String late = waiting(id).target();
          shape.append(late == null ? "" : " late -> " + late);
          shape.append(compensations.containsKey(id) ? " compensated" : "").append('\n');
        });
    routes.forEach(
        (from, route) -> shape.append(from).append(" -> ").append(route.text()).append('\n'));
    return shape.toString();
  }

  /** A field of that name is no text but a schema, and stays. */
  private static JsonNode withoutDescriptions(JsonNode schema) {
    if (schema instanceof ObjectNode object && object.path("description").isTextual()) {
      object.remove("description");
    }
    schema.forEach(Flow::withoutDescriptions);
    return schema;
  }

  private static String particulars(Node<?> node) {
    if (node instanceof Node.Ask<?> ask) {
      return ask.questions().stream()
          .filter(Node.Question::optional)
          .map(
              question -> question.field() + "?" + Json.sortedText(Json.tree(question.byDefault())))
          .collect(Collectors.joining(" "));
    } else if (node instanceof Node.Show<?> show) {
      return show.tool();
    } else if (node instanceof Node.Await<?> await) {
      return await.signal() + " " + await.field();
    } else if (node instanceof Node.Mount<?, ?> mount) {
      return nested(mount) + " into " + mount.into();
    } else if (node instanceof Node.Each<?, ?> each) {
      return nested(each) + " into " + each.into() + " " + each.joining();
    }
    return "";
  }

  private static String nested(Node.Nested<?> nested) {
    return nested.flow().id() + " " + nested.flow().fingerprint();
  }

  private static String digest(String text) {
    return HexFormat.of().formatHex(Digests.sha256(text), 0, 6);
  }

  /** Where one of its own nodes may lead. */
  List<String> targets(String node) {
    List<String> targets = new ArrayList<>();
    Route route = routes.get(node);
    if (route != null) {
      targets.addAll(route.targets());
    }
    String late = waiting(node).target();
    if (late != null) {
      targets.add(late);
    }
    return targets;
  }
}

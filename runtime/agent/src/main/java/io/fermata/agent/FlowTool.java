package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Violation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A flow that a model calls like a tool. Every call is a separate run. If the flow asks a person,
 * the thread waits for the answer, also across restarts.
 *
 * <pre>{@code
 * record Case(@Describe("The case's number") String number) {}
 *
 * FlowTool triage =
 *     FlowTool.of("triage", "Decides how urgent a case is.", triageFlow)
 *         .arguments(Case.class)
 *         .resultMapper(run -> run.values().path("urgency").asText());
 * }</pre>
 */
public final class FlowTool implements Offered {
  private static final String EXPLAIN = "explain_call";
  private static final Pattern NAME = Pattern.compile("[a-z0-9_-]{1,64}");

  private final String description;
  private final Flow<?> flow;
  private final ArgumentSchema arguments;
  private final @Nullable Function<Finished, ?> resultMapper;
  private final List<Recorder> recorders;
  private final @Nullable Function<JsonNode, @Nullable String> approval;

  private FlowTool(
      String description,
      Flow<?> flow,
      ArgumentSchema arguments,
      @Nullable Function<Finished, ?> resultMapper,
      List<Recorder> recorders,
      @Nullable Function<JsonNode, @Nullable String> approval) {
    this.description = description;
    this.flow = flow;
    this.arguments = arguments;
    this.resultMapper = resultMapper;
    this.recorders = recorders;
    this.approval = approval;
    Given.required("The recorders of " + flow.id(), recorders);
  }

  /** A finished run, for the result mapper. */
  public static final class Finished {
    private final ObjectNode values;
    private final @Nullable JsonNode result;
    private final Supplier<String> narrative;

    public Finished(ObjectNode values, @Nullable JsonNode result, Supplier<String> narrative) {
      this.values = values;
      this.result = result;
      this.narrative = narrative;
    }

    /** The final state. */
    public ObjectNode values() {
      return values;
    }

    /** The result of the flow; null for none. */
    public @Nullable JsonNode result() {
      return result;
    }

    /**
     * The narrative of the run as a model may read it, created on demand. Of a long run it has the
     * latest steps, and begins by saying so.
     */
    public String narrative() {
      return narrative.get();
    }
  }

  /**
   * A tool without arguments. It returns the result of the flow, or its whole state if there is
   * none.
   *
   * @param name the name; 1 to 64 of a-z, 0-9, _ and -
   * @param description when a model should use it
   */
  public static FlowTool of(String name, String description, Flow<?> flow) {
    if (!NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
      throw new IllegalArgumentException(
          "The tool's name \"" + name + "\" is not 1 to 64 of a-z, 0-9, _ and -");
    }
    if (description.isBlank()) {
      throw new IllegalArgumentException(
          "The tool "
              + name
              + " has no description; add one, so that a model knows when"
              + " to use it");
    }
    return new FlowTool(
        description, flow.named(name), ArgumentSchema.nothing(), null, List.of(), null);
  }

  /**
   * The arguments, as a record. They become the first answers of the run, so each must be a field
   * that a client may write, and no value that it allows may be one that the field refuses by its
   * type or its list of values.
   */
  public FlowTool arguments(Class<? extends Record> type) {
    return arguments(ArgumentSchema.of(type));
  }

  /** The same with a JSON Schema, whose type is {@code object}. */
  public FlowTool arguments(ObjectNode schema) {
    if (!"object".equals(schema.path("type").textValue())) {
      throw new IllegalArgumentException(
          "The input schema of " + name() + " must have the type object");
    }
    return arguments(ArgumentSchema.of(schema));
  }

  private FlowTool arguments(ArgumentSchema given) {
    ObjectNode fields = flow.updatesSchema().withObjectProperty("properties");
    List<String> known = new ArrayList<>();
    fields.fieldNames().forEachRemaining(known::add);
    for (Map.Entry<String, JsonNode> argument : given.json().path("properties").properties()) {
      String name = argument.getKey();
      if (!known.contains(name)) {
        throw new IllegalArgumentException(
            "The argument %s of %s is not a field that a client of the flow may write%s"
                .formatted(name, name(), Nearest.suggestion(name, known)));
      }
      String contradiction = ArgumentSchema.contradiction(argument.getValue(), fields.path(name));
      if (contradiction != null) {
        throw new IllegalArgumentException(
            "The argument %s of %s contradicts the field of the flow: %s"
                .formatted(name, name(), contradiction));
      }
    }
    return new FlowTool(description, flow, given, resultMapper, recorders, approval);
  }

  /**
   * Maps a finished run to the result for the caller: a text as it is, anything else as JSON. If it
   * throws, the caller gets the error {@code [mapper-error: …]}.
   */
  public FlowTool resultMapper(Function<Finished, ?> mapper) {
    Objects.requireNonNull(mapper, "mapper");
    return new FlowTool(description, flow, arguments, mapper, recorders, approval);
  }

  /**
   * Recorders of the runs. These instances receive every call of the tool; the run id distinguishes
   * the calls.
   */
  public FlowTool recorders(Recorder... observers) {
    return new FlowTool(
        description, flow, arguments, resultMapper, Given.listed(observers), approval);
  }

  /** A person must approve every call before the flow starts. */
  public FlowTool approval(String question) {
    Tool.requireWords(question, name());
    return approval((JsonNode args) -> question);
  }

  /**
   * A person must approve a call before the flow starts.
   *
   * @param question the question for a call's arguments; null if the call needs no approval
   */
  public FlowTool approval(Function<JsonNode, @Nullable String> question) {
    Objects.requireNonNull(question, "question");
    return new FlowTool(description, flow, arguments, resultMapper, recorders, question);
  }

  /** The tool as a job for clients: a run ends at a failed step, as nobody could resume it. */
  public FlowTool asJob() {
    Function<Finished, ?> mapper = resultMapper == null ? FlowTool::returned : resultMapper;
    return new FlowTool(
        description, flow.endingOnFailure(), arguments, mapper, recorders, approval);
  }

  /** The result of the flow; a text without quotes, for people. */
  private static Object returned(Finished finished) {
    JsonNode result = finished.result();
    if (result == null) {
      return finished.values();
    }
    return result.isTextual() ? result.textValue() : result;
  }

  /**
   * A tool with which a model asks what its latest call of one of these flows did: what was asked,
   * which rule chose, why a field has its value. The host keeps that while the call is open, and
   * afterwards as long as its retention says; secrets are redacted.
   */
  public static Tool explanations(FlowTool... flows) {
    if (Objects.requireNonNull(flows, "flows").length == 0) {
      throw new IllegalArgumentException(
          EXPLAIN + " would explain nothing; give it the flows of the agent, or leave it out");
    }
    ObjectNode schema = Json.object().put("type", "object").put("additionalProperties", false);
    ObjectNode fields = schema.putObject("properties");
    ObjectNode flow = fields.putObject("flow").put("type", "string");
    flow.put("description", "The tool that was called");
    for (FlowTool each : flows) {
      flow.withArray("enum").add(Objects.requireNonNull(each, "flows").name());
    }
    ObjectNode about = fields.putObject("about").put("type", "string");
    about.put(
        "description",
        "path: what happened so far; asked: questions and answers; decisions: which rule chose, on"
            + " what values; why: why a field has its value");
    Stream.of("path", "asked", "decisions", "why").forEach(about.withArray("enum")::add);
    fields
        .putObject("field")
        .put("type", "string")
        .put("description", "With why: the field, with dots as in the tool's questions");
    schema.putArray("required").add("flow").add("about");
    return Tool.of(
        EXPLAIN,
        "Explains your latest call of another tool: what happened, what was asked, which rule chose"
            + " a way, why a field has its value. It changes nothing. Use it when the user asks why.",
        schema,
        (state, args) ->
            state.explainFlow(
                args.path("flow").asText(),
                args.path("about").asText(),
                args.path("field").textValue()));
  }

  @Override
  public String name() {
    return flow.id();
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public ArgumentSchema arguments() {
    return arguments;
  }

  @Override
  public FlowTool withDescription(String text) {
    Objects.requireNonNull(text, "description");
    return new FlowTool(text, flow, arguments, resultMapper, recorders, approval);
  }

  /** The approval question for a call's arguments; null for no approval. */
  public @Nullable Function<JsonNode, @Nullable String> approval() {
    return approval;
  }

  /** The flow, under the name of the tool. */
  public Flow<?> flow() {
    return flow;
  }

  /**
   * Whether a call of either does the same. Only approvals may differ between the tools of one name
   * that the agents of a host have.
   */
  public boolean sameWork(FlowTool other) {
    return flow.version() == other.flow.version()
        && flow.fingerprint().equals(other.flow.fingerprint())
        && arguments.json().equals(other.arguments.json())
        && resultMapper == other.resultMapper
        && recorders.equals(other.recorders);
  }

  public List<Recorder> recorders() {
    return recorders;
  }

  /** The error message for a call's arguments; null if they are valid. */
  public @Nullable String wrong(ObjectNode given) {
    List<Violation> violations = this.arguments.check(given);
    return violations.isEmpty()
        ? null
        : Violation.listed("The arguments of " + name() + " do not fit", violations)
            + " Correct them and call again.";
  }

  /**
   * The result for the caller of a finished run: {@code text}, and whether it is an {@code error}.
   */
  public ObjectNode mapped(Finished finished) {
    ObjectNode mapped = Json.object();
    try {
      return mapped.put("text", text(finished)).put("error", false);
    } catch (Throwable e) {
      Failures.rethrowFatal(e);
      String reason = Failures.message(e);
      return mapped.put("text", "[mapper-error: " + reason + "]").put("error", true);
    }
  }

  private String text(Finished finished) {
    JsonNode ordinary = finished.result() == null ? finished.values() : finished.result();
    Object mapped = resultMapper == null ? ordinary : resultMapper.apply(finished);
    return mapped instanceof String text ? text : Json.text(Json.tree(mapped));
  }
}

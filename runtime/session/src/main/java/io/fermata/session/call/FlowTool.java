package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Violation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.session.HostBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A flow as a tool of an agent, or as a {@linkplain HostBuilder#job job} of clients. Every call is
 * a separate run; a run that pauses pauses its caller.
 *
 * <pre>{@code
 * FlowTool triage =
 *     FlowTool.of("triage", "Decides how urgent a case is.", triageFlow)
 *         .inputSchema(schema)
 *         .resultMapper(run -> run.values().path("urgency").asText());
 * }</pre>
 */
public final class FlowTool {
  private static final Pattern NAME = Pattern.compile("[a-z0-9_-]{1,64}");

  private final String name;
  private final String description;
  private final Flow<?> flow;
  private final ArgumentSchema inputSchema;
  private final @Nullable Function<Finished, ?> resultMapper;
  private final List<Recorder> recorders;

  private FlowTool(
      String name,
      String description,
      Flow<?> flow,
      ArgumentSchema inputSchema,
      @Nullable Function<Finished, ?> resultMapper,
      List<Recorder> recorders) {
    this.name = name;
    this.description = description;
    this.flow = flow;
    this.inputSchema = inputSchema;
    this.resultMapper = resultMapper;
    this.recorders = recorders;
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

    /** The narrative of the run as a model may read it, created on demand. */
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
    if (!NAME.matcher(name).matches()) {
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
        name, description, flow.named(name), ArgumentSchema.nothing(), null, List.of());
  }

  /**
   * The JSON Schema of the arguments. They become the first answers of the run, so each must be a
   * field that a client may write, and no value that it allows may be one that the field refuses by
   * its type or its list of values.
   */
  public FlowTool inputSchema(JsonNode schema) {
    if (!(schema instanceof ObjectNode object)
        || !"object".equals(schema.path("type").textValue())) {
      throw new IllegalArgumentException(
          "The input schema of " + name + " must have the type object");
    }
    ObjectNode fields = flow.updatesSchema().withObjectProperty("properties");
    List<String> known = new ArrayList<>();
    fields.fieldNames().forEachRemaining(known::add);
    schema
        .path("properties")
        .fieldNames()
        .forEachRemaining(
            field -> {
              if (!known.contains(field)) {
                throw new IllegalArgumentException(
                    "The argument %s of %s is not a field that a client of the flow may write%s"
                        .formatted(field, name, Nearest.suggestion(field, known)));
              }
              String contradiction =
                  ArgumentSchema.contradiction(
                      schema.path("properties").path(field), fields.path(field));
              if (contradiction != null) {
                throw new IllegalArgumentException(
                    "The argument "
                        + field
                        + " of "
                        + name
                        + " contradicts the field of the flow: "
                        + contradiction);
              }
            });
    return new FlowTool(
        name, description, flow, ArgumentSchema.of(object), resultMapper, recorders);
  }

  /**
   * Maps a finished run to the result for the caller: a text as it is, anything else as JSON. If it
   * throws, the caller gets the error {@code [mapper-error: …]}.
   */
  public FlowTool resultMapper(Function<Finished, ?> mapper) {
    return new FlowTool(name, description, flow, inputSchema, mapper, recorders);
  }

  /**
   * Recorders of the runs. These instances receive every call of the tool; the run id distinguishes
   * the calls.
   */
  public FlowTool recorders(Recorder... observers) {
    return new FlowTool(name, description, flow, inputSchema, resultMapper, List.of(observers));
  }

  /** The tool as a job for clients: a run ends at a failed step, as nobody could resume it. */
  public FlowTool asJob() {
    Function<Finished, ?> mapper = resultMapper == null ? FlowTool::returned : resultMapper;
    return new FlowTool(name, description, flow.endingOnFailure(), inputSchema, mapper, recorders);
  }

  /** The result of the flow; a text without quotes, for people. */
  private static Object returned(Finished finished) {
    JsonNode result = finished.result();
    if (result == null) {
      return finished.values();
    }
    return result.isTextual() ? result.textValue() : result;
  }

  public String name() {
    return name;
  }

  public String description() {
    return description;
  }

  /** The flow, under the name of the tool. */
  public Flow<?> flow() {
    return flow;
  }

  public ObjectNode inputSchema() {
    return inputSchema.json();
  }

  public List<Recorder> recorders() {
    return recorders;
  }

  /** The error message for a call's arguments; null if they are valid. */
  public @Nullable String wrong(ObjectNode arguments) {
    List<Violation> violations = inputSchema.check(arguments);
    return violations.isEmpty()
        ? null
        : Violation.listed("The arguments of " + name + " do not fit", violations)
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
      if (e instanceof VirtualMachineError fatal && !(e instanceof StackOverflowError)) {
        throw fatal;
      }
      String reason = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
      return mapped.put("text", "[mapper-error: " + reason + "]").put("error", true);
    }
  }

  private String text(Finished finished) {
    JsonNode ordinary = finished.result() == null ? finished.values() : finished.result();
    Object mapped = resultMapper == null ? ordinary : resultMapper.apply(finished);
    return mapped instanceof String text ? text : Json.text(Json.tree(mapped));
  }
}

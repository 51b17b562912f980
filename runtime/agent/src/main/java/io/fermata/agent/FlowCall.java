package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A flow that a model calls like a tool. If the flow asks a person, the thread waits for the
 * answer, also across restarts. The host must have a flow tool of this name.
 *
 * @param approval the approval question for a call's arguments; null for no approval
 */
public record FlowCall(
    String name,
    String description,
    ArgumentSchema arguments,
    @Nullable Function<JsonNode, @Nullable String> approval)
    implements Offered {
  private static final String EXPLAIN = "explain_call";

  public FlowCall {
    Tool.named(name, "flow");
  }

  public static FlowCall of(String name, String description, ObjectNode schema) {
    return new FlowCall(name, description, ArgumentSchema.of(schema), null);
  }

  /**
   * A tool with which a model asks what its latest call of one of these flows did: what was asked,
   * which rule chose, why a field has its value. The host keeps that while the call is open, and
   * afterwards as long as its retention says; secrets are redacted.
   */
  public static Tool explanations(FlowCall... flows) {
    ObjectNode schema = Json.object().put("type", "object").put("additionalProperties", false);
    ObjectNode fields = schema.putObject("properties");
    ObjectNode flow = fields.putObject("flow").put("type", "string");
    flow.put("description", "The tool that was called");
    Stream.of(flows).forEach(each -> flow.withArray("enum").add(each.name()));
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

  /** A person must approve every call before the flow starts. */
  public FlowCall approval(String question) {
    return approval((JsonNode args) -> question);
  }

  /**
   * A person must approve a call before the flow starts.
   *
   * @param question the question for a call's arguments; null if the call needs no approval
   */
  public FlowCall approval(Function<JsonNode, @Nullable String> question) {
    return new FlowCall(name, description, arguments, question);
  }
}

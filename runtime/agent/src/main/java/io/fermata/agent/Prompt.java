package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.request.ToolChoice;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * The configuration of a model's requests: instructions, tools, and the visible part of the
 * conversation.
 *
 * <pre>{@code
 * Prompt support = Prompt.of("support", model)
 *     .text("You help the customers of a bookshop.")
 *     .tools(lookup, refund);
 * }</pre>
 */
public final class Prompt {
  /** How many messages a model sees by default. */
  private static final int WINDOW = 200;

  private static final ObjectNode MESSAGE = message();

  /** A piece of the instructions. */
  public sealed interface Part {}

  public record Text(String content) implements Part {}

  public record Include(Prompt prompt) implements Part {}

  public record Env(String property) implements Part {}

  private final String name;
  private final Model model;
  private final List<Part> parts;
  private final List<Offered> tools;
  private final List<Hook> hooks;
  private final String toolDescription;
  private final ArgumentSchema requiredSchema;
  private final boolean includeChat;
  private final boolean includePastTools;
  private final boolean parallelToolCalls;
  private final ToolChoice toolChoice;
  private final int window;

  private Prompt(Draft draft) {
    name = draft.name;
    model = draft.model;
    parts = List.copyOf(draft.parts);
    tools = List.copyOf(draft.tools);
    hooks = List.copyOf(draft.hooks);
    toolDescription = draft.toolDescription;
    requiredSchema = draft.requiredSchema;
    includeChat = draft.includeChat;
    includePastTools = draft.includePastTools;
    parallelToolCalls = draft.parallelToolCalls;
    toolChoice = draft.toolChoice;
    window = draft.window;
  }

  public static Prompt of(String name, Model model) {
    return new Prompt(new Draft(Tool.named(name, "prompt"), model));
  }

  /** Appends to the instructions; parts are joined by empty lines. */
  public Prompt text(String content) {
    return part(new Text(content));
  }

  /** The instructions of another prompt, at this place. */
  public Prompt include(Prompt other) {
    return part(new Include(other));
  }

  /** The value that the thread's environment has for a property, at this place. */
  public Prompt env(String property) {
    return part(new Env(property));
  }

  private Prompt part(Part part) {
    return with(draft -> draft.parts.add(part));
  }

  /** The tools that the model may call. */
  public Prompt tools(Offered... more) {
    return with(draft -> draft.tools.addAll(List.of(more)));
  }

  /** The tools that the model may call. */
  public Prompt tools(List<? extends Offered> more) {
    return with(draft -> draft.tools.addAll(more));
  }

  /** Hooks of this prompt, in place of the agent's. */
  public Prompt hooks(Hook... more) {
    return with(draft -> draft.hooks.addAll(List.of(more)));
  }

  /** When another prompt's model should call this one. */
  public Prompt toolDescription(String description) {
    return with(draft -> draft.toolDescription = description);
  }

  /** The arguments that another prompt's model calls this one with; a message by default. */
  public Prompt requiredSchema(Class<? extends Record> arguments) {
    return with(draft -> draft.requiredSchema = ArgumentSchema.of(arguments));
  }

  /** As a tool of another prompt, it sees the conversation. */
  public Prompt includeChat() {
    return with(draft -> draft.includeChat = true);
  }

  /** Whether the model sees the results of tools from earlier turns; true by default. */
  public Prompt includePastTools(boolean value) {
    return with(draft -> draft.includePastTools = value);
  }

  /** The tool calls of one reply run in parallel; their results keep the reply's order. */
  public Prompt parallelToolCalls() {
    return with(draft -> draft.parallelToolCalls = true);
  }

  /** Whether the model may, must, or must not call tools. */
  public Prompt toolChoice(ToolChoice choice) {
    return with(draft -> draft.toolChoice = choice);
  }

  /**
   * How many of the latest messages the model sees at most; 200 by default. The current turn is
   * always shown as a whole. The cost of a turn depends on this, not on the length of the thread.
   */
  public Prompt window(int messages) {
    if (messages < 1) {
      throw new IllegalArgumentException(
          "A window of %d messages is empty; use at least 1".formatted(messages));
    }
    return with(draft -> draft.window = messages);
  }

  /** A copy that asks another model. */
  public Prompt withModel(Model other) {
    return with(draft -> draft.model = other);
  }

  /** A copy with these instructions, in place of all its parts. */
  public Prompt withText(String content) {
    return with(
        draft -> {
          draft.parts.clear();
          draft.parts.add(new Text(content));
        });
  }

  /** A copy whose tools are changed, one by one. */
  public Prompt withTools(UnaryOperator<Offered> change) {
    return with(draft -> draft.tools.replaceAll(change));
  }

  /** This prompt as a tool of another one. */
  public SubPrompt asTool() {
    return new SubPrompt(this, null, true, true, true);
  }

  public String name() {
    return name;
  }

  public Model model() {
    return model;
  }

  public List<Offered> tools() {
    return tools;
  }

  public List<Part> parts() {
    return parts;
  }

  public List<Hook> hooks() {
    return hooks;
  }

  String toolDescription() {
    return toolDescription;
  }

  ArgumentSchema requiredSchema() {
    return requiredSchema;
  }

  public boolean includesChat() {
    return includeChat;
  }

  public boolean includesPastTools() {
    return includePastTools;
  }

  public boolean parallel() {
    return parallelToolCalls;
  }

  public ToolChoice toolChoice() {
    return toolChoice;
  }

  public int window() {
    return window;
  }

  private static ObjectNode message() {
    ObjectNode schema = Json.object().put("type", "object").put("additionalProperties", false);
    schema.putObject("properties").putObject("message").put("type", "string");
    schema.putArray("required").add("message");
    return schema;
  }

  private Prompt with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return new Prompt(draft);
  }

  private static final class Draft {
    final String name;
    Model model;
    final List<Part> parts = new ArrayList<>();
    final List<Offered> tools = new ArrayList<>();
    final List<Hook> hooks = new ArrayList<>();
    String toolDescription = "";
    ArgumentSchema requiredSchema = ArgumentSchema.of(MESSAGE);
    boolean includeChat;
    boolean includePastTools = true;
    boolean parallelToolCalls;
    ToolChoice toolChoice = ToolChoice.AUTO;
    int window = WINDOW;

    Draft(String name, Model model) {
      this.name = name;
      this.model = model;
    }

    Draft(Prompt from) {
      this(from.name, from.model);
      parts.addAll(from.parts);
      tools.addAll(from.tools);
      hooks.addAll(from.hooks);
      toolDescription = from.toolDescription;
      requiredSchema = from.requiredSchema;
      includeChat = from.includeChat;
      includePastTools = from.includePastTools;
      parallelToolCalls = from.parallelToolCalls;
      toolChoice = from.toolChoice;
      window = from.window;
    }
  }
}

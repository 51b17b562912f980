package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.request.ToolChoice;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Options;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.List;
import java.util.Objects;
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

  private final Terms terms;

  private Prompt(Terms terms) {
    Given.required("The prompt " + terms.name, terms);
    this.terms = terms;
  }

  public static Prompt of(String name, Model model) {
    return new Prompt(new Terms(Tool.named(name, "prompt"), model));
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
    return with(terms -> terms.parts = Options.plus(terms.parts, List.of(part)));
  }

  /** The tools that the model may call. */
  public Prompt tools(Offered... more) {
    return tools(Given.listed(more));
  }

  /** The tools that the model may call. */
  public Prompt tools(List<? extends Offered> more) {
    return with(terms -> terms.tools = Options.plus(terms.tools, more));
  }

  /** Hooks of this prompt, in place of the agent's. */
  public Prompt hooks(Hook... more) {
    return with(terms -> terms.hooks = Options.plus(terms.hooks, Given.listed(more)));
  }

  /** When another prompt's model should call this one. */
  public Prompt toolDescription(String description) {
    return with(terms -> terms.toolDescription = description);
  }

  /** The arguments that another prompt's model calls this one with; a message by default. */
  public Prompt requiredSchema(Class<? extends Record> arguments) {
    return with(terms -> terms.requiredSchema = ArgumentSchema.of(arguments));
  }

  /** As a tool of another prompt, it sees the conversation. */
  public Prompt includeChat() {
    return with(terms -> terms.includeChat = true);
  }

  /** Whether the model sees the results of tools from earlier turns; true by default. */
  public Prompt includePastTools(boolean value) {
    return with(terms -> terms.includePastTools = value);
  }

  /** The tool calls of one reply run in parallel; their results keep the reply's order. */
  public Prompt parallelToolCalls() {
    return with(terms -> terms.parallelToolCalls = true);
  }

  /** Whether the model may, must, or must not call tools. */
  public Prompt toolChoice(ToolChoice choice) {
    return with(terms -> terms.toolChoice = choice);
  }

  /**
   * How many of the latest messages the model sees at most; 200 by default. The current turn is
   * always shown as a whole. The cost of a turn depends on this, not on the length of the thread.
   */
  public Prompt window(int messages) {
    if (messages < 1) {
      throw new IllegalArgumentException(
          "A window of %s messages is empty; use at least 1".formatted(messages));
    }
    return with(terms -> terms.window = messages);
  }

  /** A copy that asks another model. */
  public Prompt withModel(Model other) {
    return with(terms -> terms.model = other);
  }

  /** A copy with these instructions, in place of all its parts. */
  public Prompt withText(String content) {
    return with(terms -> terms.parts = List.of(new Text(content)));
  }

  /** A copy whose tools are changed, one by one. */
  public Prompt withTools(UnaryOperator<Offered> change) {
    Objects.requireNonNull(change, "change");
    return with(terms -> terms.tools = List.copyOf(terms.tools.stream().map(change).toList()));
  }

  /** This prompt as a tool of another one. */
  public SubPrompt asTool() {
    return new SubPrompt(this, null, true, true, true);
  }

  public String name() {
    return terms.name;
  }

  public Model model() {
    return terms.model;
  }

  public List<Offered> tools() {
    return terms.tools;
  }

  public List<Part> parts() {
    return terms.parts;
  }

  public List<Hook> hooks() {
    return terms.hooks;
  }

  String toolDescription() {
    return terms.toolDescription;
  }

  ArgumentSchema requiredSchema() {
    return terms.requiredSchema;
  }

  public boolean includesChat() {
    return terms.includeChat;
  }

  public boolean includesPastTools() {
    return terms.includePastTools;
  }

  public boolean parallel() {
    return terms.parallelToolCalls;
  }

  public ToolChoice toolChoice() {
    return terms.toolChoice;
  }

  public int window() {
    return terms.window;
  }

  private static ObjectNode message() {
    ObjectNode schema = Json.object().put("type", "object").put("additionalProperties", false);
    schema.putObject("properties").putObject("message").put("type", "string");
    schema.putArray("required").add("message");
    return schema;
  }

  private Prompt with(Consumer<Terms> change) {
    return new Prompt(terms.with(Terms.class, change));
  }

  private static final class Terms extends Options {
    final String name;
    Model model;
    List<Part> parts = List.of();
    List<Offered> tools = List.of();
    List<Hook> hooks = List.of();
    String toolDescription = "";
    ArgumentSchema requiredSchema = ArgumentSchema.of(MESSAGE);
    boolean includeChat;
    boolean includePastTools = true;
    boolean parallelToolCalls;
    ToolChoice toolChoice = ToolChoice.AUTO;
    int window = WINDOW;

    Terms(String name, Model model) {
      this.name = name;
      this.model = model;
    }
  }
}

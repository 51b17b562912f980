package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.mcp.settings.OAuth;
import io.fermata.session.call.WidgetPage;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A tool without state between calls.
 *
 * <pre>{@code
 * record Sum(int a, int b) {}
 *
 * McpTool add = McpTool.of("add", "Adds two numbers")
 *     .input(Sum.class)
 *     .call(call -> {
 *       Sum sum = call.arguments(Sum.class);
 *       return McpResult.text(String.valueOf(sum.a() + sum.b()));
 *     });
 * }</pre>
 *
 * <p>Arguments that do not fit the input never reach the handler; the reply says what is wrong with
 * them.
 */
public final class McpTool extends McpFeature<McpTool> {
  public static final List<String> EVERYBODY = List.of("model", "app");

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_./-]{1,64}");

  private ArgumentSchema input = ArgumentSchema.nothing();
  private @Nullable ArgumentSchema output;
  private ObjectNode annotations = Json.object();
  private Set<String> scopes = Set.of();
  private @Nullable McpHandler<CompletionStage<McpResult>> handler;
  private boolean atOnce;
  private @Nullable WidgetPage page;
  private List<String> visibility = EVERYBODY;

  private McpTool(String name, String description) {
    super(name, description);
  }

  /** A tool without arguments; {@code input} adds some. */
  public static McpTool of(String name, String description) {
    if (!NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
      throw new IllegalArgumentException(
          "The tool name \"%s\" must have 1 to 64 characters out of letters, digits, _ - . and /"
              .formatted(name));
    }
    return new McpTool(name, Objects.requireNonNull(description, "description"));
  }

  /** Takes the components of a record as arguments. */
  public McpTool input(Class<? extends Record> arguments) {
    return with(it -> it.input = ArgumentSchema.of(arguments));
  }

  /** Takes the arguments that a JSON Schema of type object describes. */
  public McpTool input(ObjectNode schema) {
    return with(it -> it.input = ArgumentSchema.of(schema));
  }

  /** Takes the arguments that a JSON Schema of type object describes, given as JSON. */
  public McpTool input(String schema) {
    return input(objectOf(schema));
  }

  /** Declares that the structured content of every result is such a record. */
  public McpTool output(Class<? extends Record> result) {
    return with(it -> it.output = ArgumentSchema.of(result));
  }

  /**
   * Declares that the structured content of every result conforms to a JSON Schema of type object.
   */
  public McpTool output(ObjectNode schema) {
    return with(it -> it.output = ArgumentSchema.of(schema));
  }

  /** Declares that the tool changes nothing. */
  public McpTool readOnly() {
    return annotation("readOnlyHint", true);
  }

  /** Declares that the tool may destroy something. */
  public McpTool destructive() {
    return annotation("destructiveHint", true);
  }

  /** Declares that repeating a call has no further effect. */
  public McpTool idempotent() {
    return annotation("idempotentHint", true);
  }

  private McpTool annotation(String hint, boolean value) {
    return with(it -> it.annotations = annotations.deepCopy().put(hint, value));
  }

  /**
   * The scopes that a token needs for this tool, besides those that every call needs. An API key
   * may call every tool.
   */
  public McpTool scopes(String... needed) {
    return with(it -> it.scopes = OAuth.scopesIn(needed));
  }

  /** Renders the results with a page, in clients that show pages. */
  public McpTool page(WidgetPage rendering) {
    return with(it -> it.page = Objects.requireNonNull(rendering, "page"));
  }

  /**
   * Reserves the tool for pages: clients that show pages do not offer it to models. Other clients
   * are rejected if they declare their capabilities with each request, as they do since 2026-07-28.
   */
  public McpTool appOnly() {
    return with(it -> it.visibility = List.of("app"));
  }

  /** Reserves the tool for models: clients let no page call it. */
  public McpTool modelOnly() {
    return with(it -> it.visibility = List.of("model"));
  }

  /** Sets the handler that answers a call. */
  public McpTool call(McpHandler<McpResult> answering) {
    Objects.requireNonNull(answering, "call");
    return callAsync(call -> CompletableFuture.completedFuture(answering.handle(call)));
  }

  /** Sets a handler that answers a call later and holds no thread meanwhile. */
  public McpTool callAsync(McpHandler<CompletionStage<McpResult>> answering) {
    return with(
        it -> {
          it.handler = Objects.requireNonNull(answering, "callAsync");
          it.atOnce = false;
        });
  }

  /**
   * Sets a handler that answers on the thread that read the call. It must neither block nor compute
   * for long, because that thread serves other calls, too.
   */
  public McpTool callAtOnce(McpHandler<McpResult> answering) {
    return call(answering).with(it -> it.atOnce = true);
  }

  static ObjectNode objectOf(String json) {
    if (Json.parse(json) instanceof ObjectNode object) {
      return object;
    }
    throw new IllegalArgumentException("A JSON Schema must be a JSON object");
  }

  public ArgumentSchema input() {
    return input;
  }

  public @Nullable ArgumentSchema output() {
    return output;
  }

  public Set<String> scopes() {
    return scopes;
  }

  public boolean atOnce() {
    return atOnce;
  }

  public McpHandler<CompletionStage<McpResult>> handler() {
    if (handler == null) {
      throw new IllegalArgumentException(
          "The tool " + name() + " has no handler: add one with call(…)");
    }
    return handler;
  }

  public ObjectNode annotations() {
    return annotations.deepCopy();
  }

  public @Nullable WidgetPage page() {
    return page;
  }

  /** Who may call it: {@code model}, {@code app} or both. */
  public List<String> visibility() {
    return visibility;
  }
}

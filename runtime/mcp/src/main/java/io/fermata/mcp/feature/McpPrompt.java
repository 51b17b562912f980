package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A prompt template that a user of the client may choose. */
public final class McpPrompt {
  public record Argument(String name, String description, boolean required) {}

  private final String name;
  private final String description;
  private final List<Argument> arguments = new ArrayList<>();
  private final Map<String, McpCompletion> completions = new LinkedHashMap<>();
  private @Nullable String title;
  private ObjectNode meta = Json.object();
  private @Nullable McpHandler<List<McpMessage>> handler;

  private McpPrompt(String name, String description) {
    this.name = name;
    this.description = description;
  }

  /** A prompt without arguments; {@link #required} and {@link #optional} add some. */
  public static McpPrompt of(String name, String description) {
    if (name.isBlank()) {
      throw new IllegalArgumentException("A prompt needs a name that is not blank");
    }
    return new McpPrompt(name, Objects.requireNonNull(description, "description"));
  }

  private McpPrompt with(Consumer<McpPrompt> change) {
    McpPrompt copy = new McpPrompt(name, description);
    copy.arguments.addAll(arguments);
    copy.completions.putAll(completions);
    copy.title = title;
    copy.meta = meta.deepCopy();
    copy.handler = handler;
    change.accept(copy);
    return copy;
  }

  /** The title that people read. */
  public McpPrompt title(String text) {
    return with(it -> it.title = text);
  }

  /** Adds an argument that must be given. */
  public McpPrompt required(String argument, String about) {
    return with(it -> it.arguments.add(new Argument(argument, about, true)));
  }

  /** Adds an argument that may be left out. */
  public McpPrompt optional(String argument, String about) {
    return with(it -> it.arguments.add(new Argument(argument, about, false)));
  }

  /** Proposes values for an argument. */
  public McpPrompt completing(String argument, McpCompletion completion) {
    if (arguments.stream().noneMatch(known -> known.name().equals(argument))) {
      throw new IllegalArgumentException(
          "The prompt %s has no argument %s: add it with required(…) or optional(…) first"
              .formatted(name, argument));
    }
    return with(it -> it.completions.put(argument, completion));
  }

  /** Adds a value to the descriptor's {@code _meta}. */
  public McpPrompt meta(String key, JsonNode value) {
    return with(it -> it.meta.set(key, value));
  }

  /** Sets the handler that writes the messages. */
  public McpPrompt get(McpHandler<List<McpMessage>> writing) {
    return with(it -> it.handler = writing);
  }

  public String name() {
    return name;
  }

  public String description() {
    return description;
  }

  public @Nullable McpCompletion completion(String argument) {
    return completions.get(argument);
  }

  public McpHandler<List<McpMessage>> handler() {
    if (handler == null) {
      throw new IllegalArgumentException(
          "The prompt " + name + " has no handler: add one with get(…)");
    }
    return handler;
  }

  public @Nullable String title() {
    return title;
  }

  public List<Argument> arguments() {
    return List.copyOf(arguments);
  }

  public ObjectNode meta() {
    return meta;
  }
}

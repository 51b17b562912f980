package io.fermata.mcp.feature;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A prompt template that a user of the client may choose. */
public final class McpPrompt extends McpFeature<McpPrompt> {
  public record Argument(String name, String description, boolean required) {}

  private final List<Argument> arguments = new ArrayList<>();
  private final Map<String, McpCompletion> completions = new LinkedHashMap<>();
  private @Nullable McpHandler<List<McpMessage>> handler;

  private McpPrompt(String name, String description) {
    super(name, description);
  }

  /** A prompt without arguments; {@link #required} and {@link #optional} add some. */
  public static McpPrompt of(String name, String description) {
    if (name.isBlank()) {
      throw new IllegalArgumentException("A prompt needs a name that is not blank");
    }
    return new McpPrompt(name, Objects.requireNonNull(description, "description"));
  }

  @Override
  McpPrompt copy() {
    McpPrompt copy = new McpPrompt(name(), description());
    copy.arguments.addAll(arguments);
    copy.completions.putAll(completions);
    copy.handler = handler;
    return copy;
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
              .formatted(name(), argument));
    }
    return with(it -> it.completions.put(argument, completion));
  }

  /** Sets the handler that writes the messages. */
  public McpPrompt get(McpHandler<List<McpMessage>> writing) {
    return with(it -> it.handler = writing);
  }

  public @Nullable McpCompletion completion(String argument) {
    return completions.get(argument);
  }

  public McpHandler<List<McpMessage>> handler() {
    if (handler == null) {
      throw new IllegalArgumentException(
          "The prompt " + name() + " has no handler: add one with get(…)");
    }
    return handler;
  }

  public List<Argument> arguments() {
    return List.copyOf(arguments);
  }
}

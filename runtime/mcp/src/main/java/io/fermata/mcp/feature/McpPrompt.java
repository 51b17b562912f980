package io.fermata.mcp.feature;

import io.fermata.flow.json.Options;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A prompt template that a user of the client may choose. */
public final class McpPrompt extends McpFeature<McpPrompt> {
  public record Argument(String name, String description, boolean required) {}

  private List<Argument> arguments = List.of();
  private Map<String, McpCompletion> completions = Map.of();
  private @Nullable McpHandler<List<McpMessage>> handler;

  private McpPrompt(String name, String description) {
    super(name, description);
  }

  /** A prompt without arguments; {@link #required} and {@link #optional} add some. */
  public static McpPrompt of(String name, String description) {
    if (Objects.requireNonNull(name, "name").isBlank()) {
      throw new IllegalArgumentException("A prompt needs a name that is not blank");
    }
    return new McpPrompt(name, Objects.requireNonNull(description, "description"));
  }

  /** Adds an argument that must be given. */
  public McpPrompt required(String argument, String about) {
    return argument(new Argument(argument, about, true));
  }

  /** Adds an argument that may be left out. */
  public McpPrompt optional(String argument, String about) {
    return argument(new Argument(argument, about, false));
  }

  private McpPrompt argument(Argument added) {
    if (Objects.requireNonNull(added.name(), "argument").isBlank()) {
      throw new IllegalArgumentException(
          "An argument of the prompt %s needs a name that is not blank".formatted(name()));
    }
    Objects.requireNonNull(added.description(), "about");
    if (arguments.stream().anyMatch(known -> known.name().equals(added.name()))) {
      throw new IllegalArgumentException(
          "The prompt %s has two arguments named %s: rename one".formatted(name(), added.name()));
    }
    return with(it -> it.arguments = Options.plus(arguments, List.of(added)));
  }

  /** Proposes values for an argument. */
  public McpPrompt completing(String argument, McpCompletion completion) {
    if (arguments.stream().noneMatch(known -> known.name().equals(argument))) {
      throw new IllegalArgumentException(
          "The prompt %s has no argument %s: add it with required(…) or optional(…) first"
              .formatted(name(), argument));
    }
    return with(
        it ->
            it.completions =
                Options.plus(
                    completions, argument, Objects.requireNonNull(completion, "completion")));
  }

  /** Sets the handler that writes the messages. */
  public McpPrompt get(McpHandler<List<McpMessage>> writing) {
    return with(it -> it.handler = Objects.requireNonNull(writing, "get"));
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
    return arguments;
  }
}

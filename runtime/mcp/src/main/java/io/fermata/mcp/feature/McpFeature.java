package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a server offers besides flows. Immutable: each change returns another one. What a field
 * holds is replaced, never changed: copies share it.
 *
 * @param <F> the type of the feature
 */
public abstract sealed class McpFeature<F extends McpFeature<F>> implements Cloneable
    permits McpTool, McpPrompt, McpResource, McpTemplate {
  private final String name;
  String description;
  @Nullable String title;
  ObjectNode meta = Json.object();

  McpFeature(String name, String description) {
    this.name = name;
    this.description = description;
  }

  /** A changed copy. */
  @SuppressWarnings("unchecked") // each feature is a feature of its own type
  final F with(Consumer<F> change) {
    try {
      F copy = (F) clone();
      change.accept(copy);
      return copy;
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** The title that people read. */
  public F title(String text) {
    return with(it -> it.title = Objects.requireNonNull(text, "title"));
  }

  /** Adds a value to the descriptor's {@code _meta}. */
  public F meta(String key, JsonNode value) {
    return with(
        it ->
            it.meta =
                meta.deepCopy()
                    .set(
                        Objects.requireNonNull(key, "key"),
                        Objects.requireNonNull(value, "value").deepCopy()));
  }

  public String name() {
    return name;
  }

  public @Nullable String title() {
    return title;
  }

  /** The description that models read; empty for none. */
  public String description() {
    return description;
  }

  public ObjectNode meta() {
    return meta.deepCopy();
  }
}

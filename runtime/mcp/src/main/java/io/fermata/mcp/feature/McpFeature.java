package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a server offers besides flows. Immutable: each change returns another one.
 *
 * @param <F> the type of the feature
 */
public abstract sealed class McpFeature<F extends McpFeature<F>>
    permits McpTool, McpPrompt, McpResource, McpTemplate {
  private final String name;
  String description;
  private @Nullable String title;
  private ObjectNode meta = Json.object();

  McpFeature(String name, String description) {
    this.name = name;
    this.description = description;
  }

  /** A copy with all that this type of feature has of its own. */
  abstract F copy();

  final F with(Consumer<F> change) {
    F copy = copy();
    McpFeature<F> head = copy;
    head.description = description;
    head.title = title;
    head.meta = meta.deepCopy();
    change.accept(copy);
    return copy;
  }

  private F withHead(Consumer<McpFeature<F>> change) {
    return with(change::accept);
  }

  /** The title that people read. */
  public F title(String text) {
    return withHead(it -> it.title = text);
  }

  /** Adds a value to the descriptor's {@code _meta}. */
  public F meta(String key, JsonNode value) {
    return withHead(it -> it.meta.set(key, value));
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
    return meta;
  }
}

package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A resource that clients may read by its URI. */
public final class McpResource {
  private final String uri;
  private final String name;
  private final String mimeType;
  private final McpHandler<McpBody> reading;
  private @Nullable String title;
  private @Nullable String description;
  private ObjectNode meta = Json.object();

  private McpResource(String uri, String name, String mimeType, McpHandler<McpBody> reading) {
    this.uri = uri;
    this.name = name;
    this.mimeType = mimeType;
    this.reading = reading;
  }

  /** A resource whose content a handler returns. */
  public static McpResource of(
      String uri, String name, String mimeType, McpHandler<McpBody> reading) {
    if (uri.isBlank() || name.isBlank()) {
      throw new IllegalArgumentException("A resource needs a URI and a name, neither blank");
    }
    return new McpResource(uri, name, mimeType, reading);
  }

  public static McpResource text(
      String uri, String name, String mimeType, Supplier<String> reading) {
    return of(uri, name, mimeType, call -> McpBody.text(uri, mimeType, reading.get()));
  }

  public static McpResource bytes(
      String uri, String name, String mimeType, Supplier<byte[]> reading) {
    return of(uri, name, mimeType, call -> McpBody.bytes(uri, mimeType, reading.get()));
  }

  private McpResource with(Consumer<McpResource> change) {
    McpResource copy = new McpResource(uri, name, mimeType, reading);
    copy.title = title;
    copy.description = description;
    copy.meta = meta.deepCopy();
    change.accept(copy);
    return copy;
  }

  /** The title that people read. */
  public McpResource title(String text) {
    return with(it -> it.title = text);
  }

  /** The description that models read. */
  public McpResource description(String text) {
    return with(it -> it.description = text);
  }

  /** Adds a value to the descriptor's {@code _meta}. */
  public McpResource meta(String key, JsonNode value) {
    return with(it -> it.meta.set(key, value));
  }

  public String uri() {
    return uri;
  }

  public McpHandler<McpBody> reading() {
    return reading;
  }

  public String name() {
    return name;
  }

  public String mimeType() {
    return mimeType;
  }

  public @Nullable String title() {
    return title;
  }

  public @Nullable String description() {
    return description;
  }

  public ObjectNode meta() {
    return meta;
  }
}

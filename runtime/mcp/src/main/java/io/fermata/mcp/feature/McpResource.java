package io.fermata.mcp.feature;

import java.util.function.Supplier;

/** A resource that clients may read by its URI. */
public final class McpResource extends McpFeature<McpResource> {
  private final String uri;
  private final String mimeType;
  private final McpHandler<McpBody> reading;

  private McpResource(String uri, String name, String mimeType, McpHandler<McpBody> reading) {
    super(name, "");
    this.uri = uri;
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

  /** The description that models read. */
  public McpResource description(String text) {
    return with(it -> it.description = text);
  }

  public String uri() {
    return uri;
  }

  public McpHandler<McpBody> reading() {
    return reading;
  }

  public String mimeType() {
    return mimeType;
  }
}

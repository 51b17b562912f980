package io.fermata.mcp.feature;

import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** A resource that clients may read by its URI. */
public final class McpResource extends McpFeature<McpResource> {
  /** Some clients refuse a whole list for one that is none. */
  private static final Pattern URI = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*:\\S+");

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
    if (Objects.requireNonNull(uri, "uri").isBlank()
        || Objects.requireNonNull(name, "name").isBlank()) {
      throw new IllegalArgumentException("A resource needs a URI and a name, neither blank");
    } else if (!URI.matcher(uri).matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is not a URI with a scheme, such as orders://today".formatted(uri));
    }
    return new McpResource(
        uri,
        name,
        Objects.requireNonNull(mimeType, "mimeType"),
        Objects.requireNonNull(reading, "reading"));
  }

  public static McpResource text(
      String uri, String name, String mimeType, Supplier<String> reading) {
    Objects.requireNonNull(reading, "reading");
    return of(uri, name, mimeType, call -> McpBody.text(uri, mimeType, reading.get()));
  }

  public static McpResource bytes(
      String uri, String name, String mimeType, Supplier<byte[]> reading) {
    Objects.requireNonNull(reading, "reading");
    return of(uri, name, mimeType, call -> McpBody.bytes(uri, mimeType, reading.get()));
  }

  /** The description that models read. */
  public McpResource description(String text) {
    return with(it -> it.description = Objects.requireNonNull(text, "description"));
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

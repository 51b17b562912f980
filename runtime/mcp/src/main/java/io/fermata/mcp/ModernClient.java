package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A client that describes itself with every request.
 *
 * @param meta the {@code _meta} of the request
 */
record ModernClient(ObjectNode meta) implements Client {
  static final String CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
  private static final String LOG_LEVEL = "io.modelcontextprotocol/logLevel";

  @Override
  public JsonNode capabilities() {
    return meta.path(CAPABILITIES);
  }

  @Override
  public @Nullable McpLevel logLevel() {
    return McpLevel.of(Wire.text(meta, LOG_LEVEL));
  }

  @Override
  public @Nullable String session() {
    return null;
  }

  @Override
  public @Nullable Questions questions() {
    return null;
  }
}

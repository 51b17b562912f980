package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.rpc.JsonRpcCodec;
import org.jspecify.annotations.Nullable;

/**
 * A client that describes itself with every request.
 *
 * @param meta the {@code _meta} of the request
 */
public record ModernClient(ObjectNode meta) implements Client {
  public static final String CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
  public static final String LOG_LEVEL = "io.modelcontextprotocol/logLevel";

  @Override
  public JsonNode capabilities() {
    return meta.path(CAPABILITIES);
  }

  @Override
  public @Nullable McpLevel logLevel() {
    return McpLevel.of(JsonRpcCodec.text(meta, LOG_LEVEL));
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

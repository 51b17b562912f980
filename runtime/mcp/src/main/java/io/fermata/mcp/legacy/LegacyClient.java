package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.protocol.Client;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A client of a revision before 2026-07-28.
 *
 * @param session its transport session; null if it has none
 * @param state what the client declared in its handshake and since
 * @param questions asks the client over its open request
 * @param replaced completes when the client of a connection initializes again
 */
record LegacyClient(
    @Nullable String session,
    ClientState state,
    Questions questions,
    CompletableFuture<Void> replaced)
    implements Client {
  @Override
  public JsonNode capabilities() {
    return state.capabilities;
  }

  @Override
  public McpLevel logLevel() {
    return state.level;
  }
}

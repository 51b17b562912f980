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
 * @param peer what it declared in its handshake and since
 * @param questions asks it over its open request
 * @param replaced completes when the client of a connection initializes again
 */
record LegacyClient(
    @Nullable String session,
    ClientState peer,
    Questions questions,
    CompletableFuture<Void> replaced)
    implements Client {
  @Override
  public JsonNode capabilities() {
    return peer.capabilities;
  }

  @Override
  public McpLevel logLevel() {
    return peer.level;
  }
}

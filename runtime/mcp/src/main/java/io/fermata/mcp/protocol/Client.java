package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.rpc.RpcException;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The client that sent a request, as far as it is known. */
public interface Client {
  /** The capabilities that it declared; missing if they are not known. */
  JsonNode capabilities();

  /** The least severe log messages that it wants; null if it wants none. */
  @Nullable McpLevel logLevel();

  /** Its transport session; null if it has none. */
  @Nullable String session();

  /**
   * Asks the client while its request is open; null if it is asked by the result of its request,
   * and repeats the request with its replies.
   */
  @Nullable Questions questions();

  /**
   * Whose request asks.
   *
   * @param session its transport session, which the reply must come in; null if it has none
   * @param permission as {@link McpRequest#permission()}
   */
  record Asker(
      AuthenticatedCaller caller,
      @Nullable String session,
      Consumer<AuthenticatedCaller> permission) {
    /** Whether a message is of the same principal in the same session. */
    public boolean is(String principal, @Nullable String inSession) {
      return caller.principal().equals(principal) && Objects.equals(session, inSession);
    }
  }

  /** Requests of the server to the client. */
  interface Questions {
    /**
     * Asks everything at once. The stage yields the replies under the keys of the questions, and
     * fails with a refusal if the client does not answer.
     *
     * @throws RpcException if too many questions of the principal are open already
     */
    CompletionStage<ObjectNode> ask(Map<String, McpAsk> asks, Asker asker, OutboundQueue progress);
  }
}

package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import io.fermata.mcp.rpc.RpcResult;
import java.io.IOException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What only the revisions before 2026-07-28 have: the handshake, sessions, batches, requests of the
 * server to the client, and some methods. Dispatching knows these revisions through this interface
 * only.
 */
public interface LegacyEra {
  /** Answers {@code initialize}. */
  Response initialize(RpcMessage message, MessageSource arrival) throws IOException;

  /**
   * The client that sent a message.
   *
   * @throws RpcException if it names a session that is unknown or has ended
   */
  Client client(MessageSource arrival);

  /** A method that only these revisions have; null if there is none of that name. */
  @Nullable RpcMethod method(String name);

  /** Takes a response of a client to a request of the server. */
  void response(JsonNode response, MessageSource arrival);

  /**
   * Takes a notification.
   *
   * @throws RpcException if it names a session that is unknown or has ended
   */
  void notification(RpcMessage message, MessageSource arrival);

  /** The result of a request, or a refusal as soon as the client cancels the request. */
  CompletionStage<RpcResult> orCancelled(
      McpRequest request, Supplier<CompletionStage<RpcResult>> answering);

  /**
   * Answers an array of messages.
   *
   * @param each answers one of them
   */
  CompletionStage<Response> batch(
      JsonNode messages, MessageSource arrival, Function<JsonNode, CompletionStage<Response>> each);
}

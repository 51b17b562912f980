package io.fermata.mcp.protocol;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A method of the protocol. It rejects a request with an {@link RpcException}. */
@FunctionalInterface
public interface RpcMethod {
  CompletionStage<RpcResult> answer(McpRequest request);

  /** A method that answers immediately. */
  static RpcMethod immediate(Function<McpRequest, RpcResult> answer) {
    return request -> CompletableFuture.completedFuture(answer.apply(request));
  }
}

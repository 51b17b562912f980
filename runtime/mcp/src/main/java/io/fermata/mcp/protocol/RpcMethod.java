package io.fermata.mcp.protocol;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A method of the protocol. What it refuses, it throws as a {@link RpcException}. */
@FunctionalInterface
public interface RpcMethod {
  CompletionStage<RpcResult> answer(McpRequest request);

  /** A method that needs nobody else to answer. */
  static RpcMethod immediate(Function<McpRequest, RpcResult> answer) {
    return request -> CompletableFuture.completedFuture(answer.apply(request));
  }
}

package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Requests of sessions and in batches in flight, which clients may cancel by their ids. */
final class CancellableRequests {
  private record Key(String session, String principal, JsonNode id) {}

  private record Call(McpRequest request, CompletableFuture<RpcResult> answer) {
    void cancel() {
      request.cancel();
      answer.completeExceptionally(RpcException.cancelled());
    }
  }

  private final Map<Key, Call> open = new ConcurrentHashMap<>();

  /** The answer of a request, or a refusal as soon as the client cancels it. */
  CompletionStage<RpcResult> orCancelled(
      String session, McpRequest request, Supplier<CompletionStage<RpcResult>> answering) {
    Key key = new Key(session, request.principal(), request.id());
    Call call = new Call(request, new CompletableFuture<>());
    if (open.putIfAbsent(key, call) != null) {
      // With two requests of one id, a cancellation would be ambiguous.
      return answering.get();
    }
    CompletionStage<RpcResult> answer;
    try {
      answer = answering.get();
    } catch (RuntimeException | Error e) {
      open.remove(key, call);
      throw e;
    }
    answer.whenComplete(
        (result, failure) -> {
          open.remove(key, call);
          if (failure == null) {
            call.answer().complete(result);
          } else {
            call.answer().completeExceptionally(failure);
          }
        });
    return call.answer();
  }

  /** Whether the request was open here. */
  boolean cancel(String session, String principal, JsonNode id) {
    Call call = open.remove(new Key(session, principal, id));
    if (call != null) {
      call.cancel();
    }
    return call != null;
  }
}

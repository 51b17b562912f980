package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.dispatch.RevisionCheck;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** Batches of JSON-RPC messages, which only revision 2025-03-26 has. */
final class Batches {
  private static final int MAX_BATCH = 50;

  private Batches() {}

  static CompletionStage<Response> answer(
      JsonNode messages,
      MessageSource arrival,
      CallQuotas quotas,
      Function<JsonNode, CompletionStage<Response>> each) {
    try {
      require(messages, arrival);
      // The first one was counted when the request arrived.
      quotas.countArrivals(arrival.principal(), messages.size() - 1);
    } catch (RpcException refusal) {
      return CompletableFuture.completedFuture(Response.error(arrival.unknownId(), refusal));
    }
    List<CompletableFuture<Response>> answers = new ArrayList<>(messages.size());
    for (JsonNode message : messages) {
      answers.add(each.apply(message).toCompletableFuture());
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
        .thenApply(all -> joined(answers.stream().map(CompletableFuture::join).toList()));
  }

  private static void require(JsonNode messages, MessageSource arrival) {
    if (!RevisionCheck.undeclared(arrival).batches()) {
      throw RpcException.invalidRequest(
          "Batches exist in revision 2025-03-26 only: send each message on its own.");
    }
    if (messages.isEmpty() || messages.size() > MAX_BATCH) {
      throw RpcException.invalidRequest("A batch must have 1 to " + MAX_BATCH + " messages.");
    }
  }

  /** With the status that all have in common, as clients act upon that of an ended session. */
  private static Response joined(List<Response> answers) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    Response first = null;
    boolean same = true;
    for (Response answer : answers) {
      if (answer.body != null) {
        all.write(first == null ? '[' : ',');
        all.writeBytes(answer.body);
        first = first == null ? answer : first;
        same &= answer.status == first.status;
      }
    }
    if (first == null) {
      return Response.ACCEPTED;
    }
    all.write(']');
    return same ? first.withBody(all.toByteArray()) : Response.of(200, all.toByteArray());
  }
}

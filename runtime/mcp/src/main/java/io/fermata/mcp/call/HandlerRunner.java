package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Runs authors' handlers. Questions of a handler reach the client in the way of its revision, and
 * the handler runs again with the replies.
 */
public final class HandlerRunner {
  private static final int MAX_ROUNDS = 100;

  /** A handler, and what is made of its answer. */
  @FunctionalInterface
  interface Work {
    CompletionStage<RpcResult> run(McpCall call) throws Exception;
  }

  /** A call in one of its rounds. */
  private record Round(
      McpRequest request,
      String method,
      String name,
      ObjectNode arguments,
      boolean atOnce,
      Work work,
      int number) {
    Round next() {
      return new Round(request, method, name, arguments, atOnce, work, number + 1);
    }

    String bound() {
      return RequestStates.call(method, name, arguments);
    }
  }

  private final LiveCatalog changes;
  private final ResultWriter results;
  private final RequestStates states;
  private final HandlerExecutor workers;

  public HandlerRunner(
      LiveCatalog changes, ResultWriter results, RequestStates states, HandlerExecutor workers) {
    this.changes = changes;
    this.results = results;
    this.states = states;
    this.workers = workers;
  }

  /**
   * Has a call answered.
   *
   * @param method the method that may be called again with replies
   * @param atOnce whether the handler never waits
   */
  CompletionStage<RpcResult> run(
      McpRequest request,
      String method,
      String name,
      ObjectNode arguments,
      boolean atOnce,
      Work work) {
    Round round = new Round(request, method, name, arguments, atOnce, work, 0);
    if (!request.revision().modern()) {
      return run(round, RoundInputs.none());
    }
    ObjectNode fresh = request.inputResponses();
    String state = request.requestState();
    return state == null ? run(round, RoundInputs.of(fresh)) : resumed(round, state, fresh);
  }

  /** Goes on with what the client brings along that was asked before. */
  private CompletionStage<RpcResult> resumed(Round round, String state, ObjectNode fresh) {
    RequestStates.Opened opened = states.open(state, round.request().principal(), round.bound());
    opened.use("make a new call");
    try {
      return run(round, RoundInputs.of(opened.content(), fresh))
          .whenComplete(
              (result, failure) -> {
                Throwable cause =
                    failure instanceof CompletionException ? failure.getCause() : failure;
                if (cause instanceof RpcException refusal && refusal.isTransient()) {
                  opened.giveBack();
                }
              });
    } catch (RpcException overloaded) {
      // Its replies were not looked at, so they are good for another try.
      opened.giveBack();
      throw overloaded;
    }
  }

  private CompletionStage<RpcResult> run(Round round, RoundInputs inputs) {
    // Handlers may change what they are given; what their questions are bound to stays as it came.
    ObjectNode arguments = round.arguments().deepCopy();
    HandlerCall call = new HandlerCall(round.request(), round.name(), arguments, inputs, changes);
    CompletionStage<RpcResult> running =
        round.atOnce() ? invoke(round.work(), call) : onWorker(round, call);
    if (running instanceof CompletableFuture<RpcResult> done
        && done.isDone()
        && !done.isCompletedExceptionally()) {
      return done;
    }
    return running
        .handle((result, failure) -> afterRun(round, call, result, failure))
        .thenCompose(settled -> settled);
  }

  private static CompletionStage<RpcResult> invoke(Work work, McpCall call) {
    try {
      return work.run(call);
    } catch (Throwable e) {
      // Whatever ends a handler, its caller waits for an answer.
      return CompletableFuture.failedFuture(e);
    }
  }

  private CompletionStage<RpcResult> onWorker(Round round, HandlerCall call) {
    CompletableFuture<RpcResult> answer = new CompletableFuture<>();
    Future<?> task =
        workers.run(
            () ->
                invoke(round.work(), call)
                    .whenComplete(
                        (result, failure) -> {
                          if (failure == null) {
                            answer.complete(result);
                          } else {
                            answer.completeExceptionally(failure);
                          }
                        }));
    OutboundQueue way = round.request().progress();
    if (way != null) {
      way.onDisconnect(
          () -> {
            call.cancel();
            task.cancel(true);
            // A task that had not begun answers nothing itself.
            answer.completeExceptionally(RpcException.cancelled());
          });
    }
    return answer;
  }

  private CompletionStage<RpcResult> afterRun(
      Round round, HandlerCall call, @Nullable RpcResult result, @Nullable Throwable failure) {
    if (result != null) {
      return CompletableFuture.completedFuture(result);
    }
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof UnansweredException unanswered) {
      try {
        return askClient(round, call, unanswered.asks());
      } catch (RpcException refusal) {
        return CompletableFuture.failedFuture(refusal);
      }
    }
    return CompletableFuture.failedFuture(
        cause == null ? new IllegalStateException("A handler answered nothing") : cause);
  }

  private CompletionStage<RpcResult> askClient(
      Round round, HandlerCall call, Map<String, McpAsk> asks) {
    McpRequest request = round.request();
    requirePossible(asks, request);
    Client.Questions questions = request.client().questions();
    if (questions == null) {
      String state = states.seal(call.next().kept(), request.principal(), round.bound());
      return CompletableFuture.completedFuture(results.inputRequired(asks, state));
    }
    OutboundQueue way = request.progress();
    if (way == null) {
      throw RpcException.invalidRequest(
          "The server has to ask something first: send the request on its own, and accept"
              + " text/event-stream.");
    }
    if (round.number() >= MAX_ROUNDS) {
      throw new IllegalStateException(
          "The handler of %s asked %d times in one call".formatted(round.name(), MAX_ROUNDS));
    }
    return questions
        .ask(asks, request.principal(), way)
        .thenCompose(replied -> run(round.next(), call.next(replied)));
  }

  private static void requirePossible(Map<String, McpAsk> asks, McpRequest request) {
    ObjectNode needed = Json.object();
    JsonNode declared = request.capabilities();
    if (declared.isMissingNode()) {
      throw RpcException.sessionGone();
    }
    asks.values().stream()
        .filter(ask -> !ask.supportedBy(declared))
        .forEach(ask -> needed.setAll(ask.capability()));
    if (!needed.isEmpty()) {
      throw RpcException.missingCapability(needed, request.revision().modern());
    }
  }
}

package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
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
final class PlainCalls {
  private static final int MAX_ROUNDS = 100;

  /** A handler, and what is made of its answer. */
  @FunctionalInterface
  interface Work {
    CompletionStage<Result> run(McpCall call) throws Exception;
  }

  /** A call in one of its rounds. */
  private record Round(
      Request request,
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
  private final Results results;
  private final RequestStates states;
  private final Workers workers;

  PlainCalls(LiveCatalog changes, Results results, RequestStates states, Workers workers) {
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
  CompletionStage<Result> run(
      Request request,
      String method,
      String name,
      ObjectNode arguments,
      boolean atOnce,
      Work work) {
    Round round = new Round(request, method, name, arguments, atOnce, work, 0);
    if (!request.revision().modern()) {
      return run(round, Inputs.none());
    }
    ObjectNode fresh = request.responses();
    String state = request.state();
    return state == null ? run(round, Inputs.of(fresh)) : resumed(round, state, fresh);
  }

  /** Goes on with what the client brings along that was asked before. */
  private CompletionStage<Result> resumed(Round round, String state, ObjectNode fresh) {
    RequestStates.Opened opened = states.open(state, round.request().principal(), round.bound());
    opened.use("make a new call");
    try {
      return run(round, Inputs.of(opened.content(), fresh))
          .whenComplete(
              (result, failure) -> {
                Throwable cause =
                    failure instanceof CompletionException ? failure.getCause() : failure;
                if (cause instanceof Refusal refusal && refusal.passes()) {
                  opened.giveBack();
                }
              });
    } catch (Refusal overloaded) {
      // Its replies were not looked at, so they are good for another try.
      opened.giveBack();
      throw overloaded;
    }
  }

  private CompletionStage<Result> run(Round round, Inputs inputs) {
    // Handlers may change what they are given; what their questions are bound to stays as it came.
    ObjectNode arguments = round.arguments().deepCopy();
    HandlerCall call = new HandlerCall(round.request(), round.name(), arguments, inputs, changes);
    CompletionStage<Result> running =
        round.atOnce() ? begun(round.work(), call) : elsewhere(round, call);
    if (running instanceof CompletableFuture<Result> done
        && done.isDone()
        && !done.isCompletedExceptionally()) {
      return done;
    }
    return running
        .handle((result, failure) -> settled(round, call, result, failure))
        .thenCompose(settled -> settled);
  }

  private static CompletionStage<Result> begun(Work work, McpCall call) {
    try {
      return work.run(call);
    } catch (Throwable e) {
      // Whatever ends a handler, its caller waits for an answer.
      return CompletableFuture.failedFuture(e);
    }
  }

  private CompletionStage<Result> elsewhere(Round round, HandlerCall call) {
    CompletableFuture<Result> answer = new CompletableFuture<>();
    Future<?> task =
        workers.run(
            () ->
                begun(round.work(), call)
                    .whenComplete(
                        (result, failure) -> {
                          if (failure == null) {
                            answer.complete(result);
                          } else {
                            answer.completeExceptionally(failure);
                          }
                        }));
    Progress way = round.request().progress();
    if (way != null) {
      way.whenGone(
          () -> {
            call.cancel();
            task.cancel(true);
            // A task that had not begun answers nothing itself.
            answer.completeExceptionally(Refusal.cancelled());
          });
    }
    return answer;
  }

  private CompletionStage<Result> settled(
      Round round, HandlerCall call, @Nullable Result result, @Nullable Throwable failure) {
    if (result != null) {
      return CompletableFuture.completedFuture(result);
    }
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof Unanswered unanswered) {
      try {
        return asking(round, call, unanswered.asks());
      } catch (Refusal refusal) {
        return CompletableFuture.failedFuture(refusal);
      }
    }
    return CompletableFuture.failedFuture(
        cause == null ? new IllegalStateException("A handler answered nothing") : cause);
  }

  private CompletionStage<Result> asking(Round round, HandlerCall call, Map<String, McpAsk> asks) {
    Request request = round.request();
    requirePossible(asks, request);
    Client.Questions questions = request.client().questions();
    if (questions == null) {
      String state = states.seal(call.next().kept(), request.principal(), round.bound());
      return CompletableFuture.completedFuture(results.inputRequired(asks, state));
    }
    Progress way = request.progress();
    if (way == null) {
      throw Refusal.invalid(
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

  private static void requirePossible(Map<String, McpAsk> asks, Request request) {
    ObjectNode needed = Json.object();
    JsonNode declared = request.capabilities();
    if (declared.isMissingNode()) {
      throw Refusal.sessionGone();
    }
    asks.values().stream()
        .filter(ask -> !ask.possible(declared))
        .forEach(ask -> needed.setAll(ask.capability()));
    if (!needed.isEmpty()) {
      throw Refusal.missingCapability(needed, request.revision().modern());
    }
  }
}

package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.key.RootCauses;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Runs authors' handlers. Questions of a handler reach the client as its revision requires, and the
 * handler runs again with the replies.
 */
public final class HandlerRunner {
  private static final int MAX_ROUNDS = 100;

  /** A handler, and the conversion of its answer. */
  @FunctionalInterface
  interface Work {
    CompletionStage<RpcResult> run(McpCall call) throws Exception;
  }

  /** One round of a call. */
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
   * Answers a call.
   *
   * @param method the method that the client repeats with its replies
   * @param atOnce whether the handler never blocks
   */
  CompletionStage<RpcResult> run(
      McpRequest request,
      String method,
      String name,
      ObjectNode arguments,
      boolean atOnce,
      Work work) {
    Round round = new Round(request, method, name, arguments, atOnce, work, 0);
    ObjectNode fresh = request.inputResponses();
    String state = request.requestState();
    return state == null ? run(round, RoundInputs.of(fresh)) : resumed(round, state, fresh);
  }

  /** Continues with the state and the replies that the client sends. */
  private CompletionStage<RpcResult> resumed(Round round, String state, ObjectNode fresh) {
    CompletionStage<RequestStates.Opened> used =
        states.open(state, round.request().principal(), round.bound()).useOnce("make a new call");
    if (isDone(used)) {
      return used.thenCompose(opened -> resumed(round, opened, fresh));
    }
    // It completes on a thread of the store, which must not run handlers.
    return used.thenCompose(
        opened -> {
          CompletableFuture<RpcResult> answer = new CompletableFuture<>();
          try {
            workers.execute(
                () ->
                    resumed(round, opened, fresh)
                        .whenComplete((result, failure) -> complete(answer, result, failure)));
            return answer;
          } catch (RpcException | RejectedExecutionException full) {
            return released(opened, RpcException.overloaded());
          }
        });
  }

  private static boolean isDone(CompletionStage<?> stage) {
    return stage instanceof CompletableFuture<?> future && future.isDone();
  }

  private static <T> void complete(
      CompletableFuture<T> answer, @Nullable T result, @Nullable Throwable failure) {
    if (failure == null) {
      answer.complete(result);
    } else {
      answer.completeExceptionally(failure);
    }
  }

  /** If the replies were not used, the client may send them again. */
  private CompletionStage<RpcResult> resumed(
      Round round, RequestStates.Opened opened, ObjectNode fresh) {
    CompletionStage<RpcResult> running;
    try {
      running = run(round, RoundInputs.of(opened.content(), fresh));
    } catch (RuntimeException refused) {
      running = CompletableFuture.failedFuture(refused);
    }
    return running.exceptionallyCompose(
        failure -> {
          return RootCauses.of(failure) instanceof RpcException refusal && refusal.isTransient()
              ? released(opened, refusal)
              : CompletableFuture.failedFuture(failure);
        });
  }

  /** Fails once the state is released, as the client may retry at another host at once. */
  private static CompletionStage<RpcResult> released(
      RequestStates.Opened opened, RpcException refusal) {
    return opened
        .releaseEverywhere()
        .thenCompose(released -> CompletableFuture.failedFuture(refusal));
  }

  private CompletionStage<RpcResult> run(Round round, RoundInputs inputs) {
    // Handlers may change their arguments; their questions stay bound to the original ones.
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
      // However a handler ends, its caller waits for an answer.
      return CompletableFuture.failedFuture(e);
    }
  }

  private CompletionStage<RpcResult> onWorker(Round round, HandlerCall call) {
    CompletableFuture<RpcResult> answer = new CompletableFuture<>();
    Future<?> task =
        workers.run(
            round.request().principal(),
            () -> invoke(round.work(), call),
            // Who has the answer may call again, so its handler counts no more.
            ended -> ended.whenComplete((result, failure) -> complete(answer, result, failure)));
    round
        .request()
        .onCancel(
            () -> {
              call.cancel();
              // Before the handler fails as it is interrupted; one that has not begun never
              // answers.
              answer.completeExceptionally(RpcException.cancelled());
              task.cancel(true);
            });
    return answer;
  }

  private CompletionStage<RpcResult> afterRun(
      Round round, HandlerCall call, @Nullable RpcResult result, @Nullable Throwable failure) {
    if (result != null) {
      return CompletableFuture.completedFuture(result);
    } else if (failure == null) {
      return CompletableFuture.failedFuture(new IllegalStateException("The handler returned null"));
    }
    Throwable cause = RootCauses.of(failure);
    if (cause instanceof UnansweredException unanswered) {
      try {
        return askClient(round, call, unanswered.asks());
      } catch (RpcException refusal) {
        return CompletableFuture.failedFuture(refusal);
      }
    }
    // A stage asks a failure for its text, which an author's may fail to say.
    return CompletableFuture.failedFuture(
        cause instanceof RpcException ? cause : LoggedFailure.of(cause));
  }

  private CompletionStage<RpcResult> askClient(
      Round round, HandlerCall call, Map<String, McpAsk> asks) {
    McpRequest request = round.request();
    requirePossible(asks, request);
    Client.Questions questions = request.client().questions();
    if (questions == null) {
      ObjectNode kept = call.next().kept(asks.keySet());
      String state = states.encrypt(kept, request.principal(), round.bound());
      return CompletableFuture.completedFuture(results.inputRequired(asks, state));
    }
    OutboundQueue queue = request.progress();
    if (queue == null) {
      throw RpcException.cannotAsk(
          "The server has to ask the client something: send the request outside of a batch, and accept"
              + " text/event-stream.");
    }
    if (round.number() >= MAX_ROUNDS) {
      throw new IllegalStateException(
          "The handler of %s asked %s times in one call".formatted(round.name(), MAX_ROUNDS));
    }
    return questions
        .ask(asks, request.asker(), queue)
        .thenCompose(replied -> run(round.next(), call.next(replied)));
  }

  private static void requirePossible(Map<String, McpAsk> asks, McpRequest request) {
    ObjectNode needed = Json.object();
    JsonNode declared = request.capabilities();
    if (declared.isMissingNode()) {
      throw RpcException.sessionGone();
    }
    asks.values().stream()
        .filter(ask -> !ask.declaredIn(declared))
        .forEach(ask -> add(ask.capability(), needed));
    if (!needed.isEmpty()) {
      throw RpcException.missingCapability(needed, request.revision().modern());
    } else if (!asks.values().stream().allMatch(ask -> ask.isIn(request.revision()))) {
      throw RpcException.cannotAsk(
          "The request needs a client of a revision whose forms have lists: "
              + Revision.WITH_LISTS.text);
    }
  }

  private static void add(ObjectNode capability, ObjectNode needed) {
    capability
        .properties()
        .forEach(
            part -> needed.withObjectProperty(part.getKey()).setAll((ObjectNode) part.getValue()));
  }
}

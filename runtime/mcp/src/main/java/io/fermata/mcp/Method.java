package io.fermata.mcp;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A method of the protocol. What it refuses, it throws as a {@link Refusal}. */
@FunctionalInterface
interface Method {
  CompletionStage<Result> answer(Request request);

  /** A method that needs nobody else to answer. */
  static Method atOnce(Function<Request, Result> answer) {
    return request -> CompletableFuture.completedFuture(answer.apply(request));
  }
}

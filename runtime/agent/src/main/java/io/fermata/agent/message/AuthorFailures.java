package io.fermata.agent.message;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/** Describes what author code threw. */
public final class AuthorFailures {
  private static final int LONGEST = 2_000;

  private AuthorFailures() {}

  /** Rethrows what the process cannot survive; otherwise the cause. */
  public static Throwable survivable(Throwable thrown) {
    if (thrown instanceof VirtualMachineError fatal && !(thrown instanceof StackOverflowError)) {
      throw fatal;
    }
    boolean wrapped = thrown instanceof CompletionException || thrown instanceof ExecutionException;
    return wrapped && thrown.getCause() != null ? survivable(thrown.getCause()) : thrown;
  }

  /** What a model may read about it. */
  public static String reason(Throwable thrown) {
    Throwable cause = survivable(thrown);
    String message = cause.getMessage();
    String reason =
        message == null || message.isBlank() ? cause.getClass().getSimpleName() : message;
    return reason.length() > LONGEST ? reason.substring(0, LONGEST) + "…" : reason;
  }

  /** Waits for a stage, and throws what it failed with. */
  public static <T> T await(CompletionStage<T> stage) throws InterruptedException {
    try {
      return stage.toCompletableFuture().get();
    } catch (ExecutionException e) {
      Throwable cause = survivable(e);
      throw cause instanceof RuntimeException runtime
          ? runtime
          : new IllegalStateException(reason(cause), cause);
    }
  }
}

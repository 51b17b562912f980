package io.fermata.agent.message;

import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Texts;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/** Describes exceptions of author code. */
public final class AuthorFailures {
  private static final int LONGEST = 2_000;

  private AuthorFailures() {}

  /** Rethrows fatal errors; otherwise returns the cause. */
  public static Throwable survivable(Throwable thrown) {
    Throwable cause = cause(thrown);
    Failures.rethrowFatal(cause);
    return cause;
  }

  /** What was thrown, without what it is wrapped in. */
  public static Throwable cause(Throwable thrown) {
    boolean wrapped = thrown instanceof CompletionException || thrown instanceof ExecutionException;
    return wrapped && thrown.getCause() != null ? cause(thrown.getCause()) : thrown;
  }

  /** The message for a model. Rethrows fatal errors. */
  public static String reason(Throwable thrown) {
    return message(survivable(thrown));
  }

  /** The message for a model about a cause that may be a fatal error. */
  public static String message(Throwable cause) {
    return Texts.shortened(Failures.message(cause), LONGEST);
  }

  /** Waits for a stage, and throws its failure. */
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

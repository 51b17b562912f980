package io.fermata.agent.model;

import org.jspecify.annotations.Nullable;

/** Ends an attempt without a reply; it leaves {@link Model} only as a cause. */
final class Unanswered extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient Failure failure;

  Unanswered(Failure failure) {
    this(failure, null);
  }

  private Unanswered(Failure failure, @Nullable Throwable thrown) {
    super(thrown == null ? failure.message() : named(thrown, failure));
    this.failure = failure;
    if (thrown != null) {
      setStackTrace(thrown.getStackTrace());
    }
  }

  /** With the stack trace of what a client threw, whose own text may quote a key. */
  static Unanswered of(Throwable thrown) {
    return new Unanswered(Failure.of(thrown), thrown);
  }

  private static String named(Throwable thrown, Failure failure) {
    return thrown.getClass().getName() + ": " + failure.message();
  }

  Failure failure() {
    return failure;
  }
}

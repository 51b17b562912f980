package io.fermata.agent.model;

import org.jspecify.annotations.Nullable;

/** Ends an attempt without a reply; it leaves {@link Model} only as a cause. */
final class Unanswered extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient Failure failure;
  private final transient Usage usage;

  Unanswered(Failure failure) {
    this(failure, Usage.ZERO, null);
  }

  private Unanswered(Failure failure, Usage usage, @Nullable Throwable thrown) {
    super(thrown == null ? failure.message() : named(thrown, failure));
    this.failure = failure;
    this.usage = usage;
    if (thrown != null) {
      setStackTrace(thrown.getStackTrace());
    }
  }

  /** A content filter withheld the reply, which is paid for. */
  static Unanswered withheld(Usage usage) {
    return new Unanswered(Failure.refused("A content filter withheld the reply"), usage, null);
  }

  /** With the stack trace of what a client threw, whose own text may quote a key. */
  static Unanswered of(Throwable thrown) {
    return new Unanswered(Failure.of(thrown), Usage.ZERO, thrown);
  }

  private static String named(Throwable thrown, Failure failure) {
    return thrown.getClass().getName() + ": " + failure.message();
  }

  Failure failure() {
    return failure;
  }

  /** What the attempt is known to have used. */
  Usage usage() {
    return usage;
  }
}

package io.fermata.agent.model;

/** Ends an attempt without a reply; it never leaves {@link Model}. */
final class Unanswered extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient Failure failure;

  Unanswered(Failure failure) {
    super(failure.message(), null, false, false);
    this.failure = failure;
  }

  Failure failure() {
    return failure;
  }
}

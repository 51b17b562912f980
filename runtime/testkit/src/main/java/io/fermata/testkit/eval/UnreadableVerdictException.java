package io.fermata.testkit.eval;

import io.fermata.agent.model.Usage;

/** A judge model replied with something else than a verdict; nothing is concluded from it. */
public final class UnreadableVerdictException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  @SuppressWarnings("serial") // never serialized
  private final Usage usage;

  UnreadableVerdictException(String message, Usage usage) {
    super(message);
    this.usage = usage;
  }

  /** What the reply cost all the same. */
  public Usage usage() {
    return usage;
  }
}

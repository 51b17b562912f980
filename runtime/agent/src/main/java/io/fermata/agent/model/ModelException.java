package io.fermata.agent.model;

import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The model and all its fallbacks failed; the message lists every attempt. */
public final class ModelException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<ModelAttempt> attempts;

  ModelException(String model, List<ModelAttempt> attempts, @Nullable Throwable last) {
    super(
        attempts.stream()
            .map(ModelAttempt::toString)
            .collect(Collectors.joining("; ", "Model " + model + "  did not reply:  ", "")),
        last);
    this.attempts = List.copyOf(attempts);
  }

  /** All attempts, in order. */
  public List<ModelAttempt> attempts() {
    return attempts;
  }

  /** The error of the last attempt. */
  public ModelError code() {
    return attempts.get(attempts.size() - 1).code();
  }
}

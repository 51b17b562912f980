package io.fermata.agent.model;

import dev.langchain4j.exception.HttpException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A provider refused a request, with the delay that it requested, which langchain4j's own clients
 * drop.
 */
public final class ProviderException extends HttpException {
  private static final long serialVersionUID = 1L;

  private final @Nullable Duration retryAfter;

  public ProviderException(int status, String body, @Nullable Duration retryAfter) {
    super(status, body);
    this.retryAfter = retryAfter;
  }

  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }
}

package io.fermata.agent.model;

import java.util.Locale;

/** The stable error codes of model calls. */
public enum ModelError {
  /** The rate limit of the key is exceeded. */
  RATE_LIMITED,
  /** There was no reply in time. */
  TIMEOUT,
  /** A stream stalled. */
  STALLED,
  /** The provider rejected the credentials. */
  UNAUTHORIZED,
  /** A content filter blocked the request or the reply, or the model refused to reply. */
  REFUSED,
  /** The provider could not be reached, disconnected or failed. */
  UNAVAILABLE,
  /** The provider rejected the request, or does not know the model. */
  INVALID_REQUEST,
  /** The client returned nothing at all, not even an empty message. */
  EMPTY,
  /** Anything else. */
  FAILED;

  /** The name on the wire: {@code rate_limited}. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}

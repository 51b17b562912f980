package io.fermata.agent.model;

import java.util.Locale;

/** The stable names of what can go wrong when a model is asked. */
public enum ModelError {
  /** The provider has had enough of this key for now. */
  RATE_LIMITED,
  /** No reply came in time. */
  TIMEOUT,
  /** A stream went silent. */
  STALLED,
  /** The provider does not accept the credentials. */
  UNAUTHORIZED,
  /** A content filter stood in the way. */
  REFUSED,
  /** The provider could not be reached, broke off or failed itself. */
  UNAVAILABLE,
  /** The provider does not take this request, or does not know the model. */
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

package io.fermata.session.admin;

import io.fermata.flow.event.Outcome;
import io.fermata.session.key.HostError;

/** A request to a thread, or to the list of runs, failed. The code is stable. */
public final class ThreadException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;

  public ThreadException(HostError error, String message) {
    super(message);
    this.code = error.wireName();
  }

  /** What a session replied. */
  public ThreadException(Outcome.Failure failure) {
    super(failure.message());
    this.code = failure.code();
  }

  /** The name of a {@link HostError}, or {@code unknown_run}. */
  public String code() {
    return code;
  }

  public boolean is(HostError error) {
    return code.equals(error.wireName());
  }
}

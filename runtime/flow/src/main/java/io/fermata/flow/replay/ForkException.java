package io.fermata.flow.replay;

/** A run cannot be forked as it was asked for. The code is stable. */
public final class ForkException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;

  public ForkException(String code, String message) {
    super(message);
    this.code = code;
  }

  /**
   * {@code unknown_entry}, {@code run_ended}, {@code run_ending}, {@code unknown_run}, {@code
   * may_not_fork}, {@code key_missing}, {@code run_too_large}, or the error code of a run or of a
   * host.
   */
  public String code() {
    return code;
  }
}

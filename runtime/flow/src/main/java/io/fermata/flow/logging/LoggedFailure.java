package io.fermata.flow.logging;

import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Texts;
import java.util.function.UnaryOperator;

/**
 * A failure as it is logged: the stack traces of it and of its causes, and texts that name no
 * secret and are one line each.
 */
public final class LoggedFailure extends Throwable {
  private static final long serialVersionUID = 1;
  private static final int MAX_CAUSES = 8;

  private LoggedFailure(Throwable thrown, UnaryOperator<String> masked, int depth) {
    super(
        Texts.inOneLine(masked.apply(Failures.text(thrown))),
        thrown.getCause() == null || depth == MAX_CAUSES
            ? null
            : new LoggedFailure(thrown.getCause(), masked, depth + 1),
        false,
        true);
    setStackTrace(thrown.getStackTrace());
  }

  /** A failure to log instead of one that was thrown where no secrets are known. */
  public static LoggedFailure of(Throwable thrown) {
    return of(thrown, text -> text);
  }

  /**
   * A failure to log instead of the one that was thrown.
   *
   * @param masked returns a text without secrets
   */
  public static LoggedFailure of(Throwable thrown, UnaryOperator<String> masked) {
    return new LoggedFailure(thrown, masked, 1);
  }

  /** The text names the class that was thrown. */
  @Override
  @SuppressWarnings("OverrideThrowableToString")
  public String toString() {
    return String.valueOf(getMessage());
  }
}

package io.fermata.flow;

/** How what an author's code threw is told: to the client, and to the operator. */
final class Failures {
  private static final int DETAIL = 500;
  private static final int LONGEST_MESSAGE = 2_000;

  private Failures() {}

  /** Lets through what no run can survive: the process is out of memory, or broken. */
  static void rethrowFatal(Throwable thrown) {
    if (thrown instanceof VirtualMachineError fatal && !(thrown instanceof StackOverflowError)) {
      throw fatal;
    }
  }

  /** Only the message of a {@link StepException} is meant for the client. */
  static String message(Place place, ErrorCode code, Throwable cause) {
    if (cause instanceof StepException told && told.getMessage() != null) {
      return Texts.shortened(told.getMessage(), LONGEST_MESSAGE);
    }
    return code.cause() + ": " + place.undone().node() + ". " + code.repair() + ".";
  }

  static String detail(Throwable cause) {
    return Texts.shortened(cause.toString(), DETAIL);
  }
}

package io.fermata.flow;

/** What an author's code threw. */
final class Failures {
  private static final int DETAIL = 500;

  private Failures() {}

  /** Lets through what no run can survive: the process is out of memory, or broken. */
  static void rethrowFatal(Throwable thrown) {
    if (thrown instanceof VirtualMachineError fatal && !(thrown instanceof StackOverflowError)) {
      throw fatal;
    }
  }

  /** What the operator may read of it. */
  static String detail(Throwable cause) {
    return Texts.shortened(cause.toString(), DETAIL);
  }
}

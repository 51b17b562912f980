package io.fermata.flow.json;

/** What an author's code threw. */
public final class Failures {
  private static final int DETAIL = 500;

  private Failures() {}

  /** Lets through what no run can survive: the process is out of memory, or broken. */
  public static void rethrowFatal(Throwable thrown) {
    if (thrown instanceof VirtualMachineError fatal && !(thrown instanceof StackOverflowError)) {
      throw fatal;
    }
  }

  /** What the operator may read of it. */
  public static String detail(Throwable cause) {
    return Texts.shortened(cause.toString(), DETAIL);
  }
}

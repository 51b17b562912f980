package io.fermata.flow.json;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
    return Texts.shortened(text(cause), DETAIL);
  }

  /** Its class and its message; the class alone if it fails to say more. */
  public static String text(Throwable thrown) {
    return said(thrown::toString, thrown.getClass().getName());
  }

  /** Its message; its class if it has none, or fails to say it. */
  public static String message(Throwable thrown) {
    return said(thrown::getMessage, thrown.getClass().getSimpleName());
  }

  private static String said(Supplier<@Nullable String> words, String otherwise) {
    try {
      String said = words.get();
      return said == null || said.isBlank() ? otherwise : said;
    } catch (Throwable e) {
      rethrowFatal(e);
      return otherwise;
    }
  }
}

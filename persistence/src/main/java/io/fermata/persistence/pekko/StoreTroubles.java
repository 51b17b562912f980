package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.util.regex.Pattern;
import org.slf4j.Logger;

/** Logs failures of the store: what it says in one line, others with where they were thrown. */
public final class StoreTroubles {
  private static final Pattern UNSEEN = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]+");

  private StoreTroubles() {}

  public static void warn(Logger log, String what, Throwable thrown) {
    StoreProblem problem = StoreProblem.of(thrown);
    Throwable said = said(thrown);
    if (problem != StoreProblem.REFUSES) {
      log.warn("{}: {} ({})", what, problem.text(), inOneLine(said));
    } else if (said instanceof StoreException) {
      log.warn("{}: {}", what, inOneLine(said));
    } else {
      log.warn(what, thrown);
    }
  }

  /** What the store said, if it was the store. */
  private static Throwable said(Throwable thrown) {
    for (Throwable each = thrown; each != null; each = each.getCause()) {
      if (each instanceof StoreException) {
        return each;
      }
    }
    return thrown;
  }

  private static String inOneLine(Throwable thrown) {
    return UNSEEN.matcher(String.valueOf(thrown.getMessage())).replaceAll(" ");
  }
}

package io.fermata.session.key;

import io.fermata.flow.json.Texts;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import org.slf4j.Logger;

/** Logs failures of the store: known problems in one line, others with where they were thrown. */
public final class StoreTroubles {
  private StoreTroubles() {}

  public static void warn(Logger log, String what, Throwable thrown) {
    StoreProblem problem = StoreProblem.of(thrown);
    if (problem == StoreProblem.REFUSES) {
      log.warn(what, thrown);
      return;
    }
    StoreException known = RootCauses.find(thrown, StoreException.class);
    String why = String.valueOf((known == null ? thrown : known).getMessage());
    log.warn("{}: {} ({})", what, problem.text(), Texts.inOneLine(why));
  }
}

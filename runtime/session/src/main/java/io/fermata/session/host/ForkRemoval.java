package io.fermata.session.host;

import io.fermata.session.key.RootCauses;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removes forks that must not stay, as their sources are gone. */
final class ForkRemoval {
  private static final Logger LOG = LoggerFactory.getLogger(ForkRemoval.class);

  private ForkRemoval() {}

  /**
   * Removes a fork whose source is gone meanwhile, or of whose source that is unknown.
   *
   * @param checked the fork, if its source is still there
   * @param name names the fork in the log
   */
  static <F> CompletionStage<F> unlessKept(
      CompletionStage<F> checked, String name, Supplier<? extends CompletionStage<?>> remove) {
    return checked.exceptionallyCompose(thrown -> removed(thrown, name, remove.get()));
  }

  private static <F> CompletionStage<F> removed(
      Throwable cause, String name, CompletionStage<?> removal) {
    return removal.handle(
        (gone, failed) -> {
          if (failed != null) {
            LOG.warn("The fork {} was refused and could not be removed; remove it", name, failed);
          }
          throw new CompletionException(RootCauses.of(cause));
        });
  }
}

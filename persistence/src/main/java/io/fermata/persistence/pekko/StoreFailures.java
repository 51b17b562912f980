package io.fermata.persistence.pekko;

import java.util.concurrent.CompletionException;

/** What the requests to a store fail with. */
public final class StoreFailures {

  private StoreFailures() {}

  /** The failure without the wrapper of a stage. */
  public static Throwable of(Throwable thrown) {
    Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : null;
    return cause == null ? thrown : cause;
  }
}

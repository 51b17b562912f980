package io.fermata.persistence.spi;

import java.util.concurrent.TimeoutException;

/**
 * Why a store cannot be written now, and what to do. The texts are for operators and for everybody
 * who may see a health check: they name no file, no address and no data.
 */
public enum StoreProblem {
  AWAY("the store does not answer; check that it runs and can be reached"),
  FULL("the disk of the store is full; free space on it"),
  READ_ONLY("the store is read-only; allow this host to write to it"),
  LOCKED("another program holds the write lock of the store; end that program or its transaction"),
  GONE(
      "the file of the store was deleted or replaced while it was open; put the right file there"
          + " and restart this host"),
  LOG_GONE(
      "the write-ahead log of the store was deleted or replaced while it was open; restart this"
          + " host, which copies the log into the file as it ends"),
  TAKEN_OVER("another host took over the store; stop one of the two hosts"),
  MOVED("another host holds this session's shard of the store now; send the call again"),
  DAMAGED("the store is damaged; restore it from a backup"),
  REFUSES("the store accepts no writes; the log of this host says why");

  private final String text;

  StoreProblem(String text) {
    this.text = text;
  }

  /** The reason and the next step. */
  public String text() {
    return text;
  }

  /** The problem that a failed request shows. */
  public static StoreProblem of(Throwable failure) {
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof StoreException known && known.problem() != REFUSES) {
        return known.problem();
      } else if (each instanceof TimeoutException) {
        return AWAY;
      }
    }
    return REFUSES;
  }
}

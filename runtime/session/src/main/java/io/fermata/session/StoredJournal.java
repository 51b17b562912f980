package io.fermata.session;

import io.fermata.session.admin.Scrubbing;
import io.fermata.session.archive.Archive;
import io.fermata.session.archive.Recordings;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The journal of a run or a thread in the store of a host. Whether there is one shows when it is
 * read, which does not affect the run or thread.
 *
 * @param <J> the journal as a value
 */
public abstract sealed class StoredJournal<J> permits StoredRun, StoredThread {
  static final String STORE = "The store";

  final HostParts host;

  StoredJournal(HostParts host) {
    this.host = host;
  }

  /**
   * @throws IllegalArgumentException if the id is none
   */
  abstract Archive.Header header();

  abstract J read(StoredJournals stored);

  abstract List<String> recording(Scrubbing scrubbing, J journal);

  /**
   * Exports the journal as JSON Lines. Encrypted data stays encrypted, and can be imported with the
   * same key.
   *
   * @param to flushed, not closed
   * @return the number of entries; fails with an {@link IllegalArgumentException} if there is no
   *     journal
   */
  public CompletionStage<Long> export(OutputStream to) {
    return export(false, to);
  }

  /** As {@link #export}, with encrypted data decrypted. */
  public CompletionStage<Long> exportWithSecrets(OutputStream to) {
    return export(true, to);
  }

  private CompletionStage<Long> export(boolean decrypt, OutputStream to) {
    try {
      return host.whileOpen(() -> host.archives.write(header(), decrypt, to));
    } catch (IllegalArgumentException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * The journal as a value, with encrypted data decrypted: to look at it entry by entry, and to
   * decide it again.
   *
   * @return fails with an {@link IllegalArgumentException} if there is no journal
   */
  public CompletionStage<J> readWithSecrets() {
    StoredJournals stored = new StoredJournals(host.store, host.encryption, STORE);
    return host.whileOpen(
        () -> CompletableFuture.supplyAsync(() -> read(stored), host.threads.handlers()));
  }

  /**
   * Records the run or thread as a test, to be kept with the code: an export in clear of it alone,
   * with invented values in place of those of secret fields, and without its callers and its
   * session. Secret are the fields of a flow that it marks; in a thread the arguments that its
   * tools mark, what secret fields of flows are called, and what further fields are called.
   *
   * <p>The recording is decided again before it is written. Where a condition, a validator, a text
   * or a computed value depends on what an invented value has not, other values are invented; if
   * that does not help, the recording is refused.
   *
   * @param scrubbing which further fields are invented, by their paths, and whether a recording
   *     that is decided otherwise is written all the same
   * @param to flushed, not closed; nothing is written to it if the recording is refused
   * @return the number of entries; fails with a {@link io.fermata.session.admin.RecordingException}
   *     that says where the recording would be decided otherwise; with an {@link
   *     IllegalArgumentException} if there is no journal, or a further field is none: of a run one
   *     that neither its flow nor its journal has, of a thread one that nothing in it has
   */
  public CompletionStage<Long> record(Scrubbing scrubbing, OutputStream to) {
    return readWithSecrets()
        .thenApplyAsync(
            journal -> Recordings.write(recording(scrubbing, journal), to),
            host.threads.handlers());
  }
}

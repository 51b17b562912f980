package io.fermata.session;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.ThreadKey;
import java.util.function.Supplier;

/**
 * The journals of a store, as values.
 *
 * @param called what errors call the store, at the beginning of a sentence
 */
record StoredJournals(OpenStore store, Encryption encryption, String called) {

  /**
   * @throws IllegalArgumentException if there is none of the run, or it cannot be read
   */
  RunJournal run(String flow, String runId) {
    RunJournal journal = read(() -> JournalPages.run(store, encryption, flow, runId));
    if (journal.entries().isEmpty()) {
      throw new IllegalArgumentException(unknown(called, flow, runId));
    }
    return journal;
  }

  /**
   * @throws IllegalArgumentException if there is none of the thread, or it cannot be read
   */
  ThreadJournal thread(String threadId) {
    ThreadKey key = ThreadKey.of(threadId);
    ThreadJournal journal =
        key == null ? null : read(() -> JournalPages.thread(store, encryption, key));
    if (journal == null || journal.entries().isEmpty()) {
      throw new IllegalArgumentException(
          "%s has no journal of a thread %s".formatted(called, threadId));
    }
    return journal;
  }

  /** Says that a store has no journal of a run. */
  static String unknown(String called, String flow, String runId) {
    return "%s has no journal of a run %s of %s; the journal of an ended run is kept for the host's retention"
        .formatted(called, runId, flow);
  }

  private <T> T read(Supplier<T> journal) {
    try {
      return journal.get();
    } catch (UnreadableEntry why) {
      throw unreadable(called, why);
    }
  }

  /** Says that this release cannot read a journal of a store. */
  static IllegalArgumentException unreadable(String called, UnreadableEntry why) {
    return new IllegalArgumentException(
        "%s has a journal that this release cannot read: %s".formatted(called, why.getMessage()),
        why);
  }
}
